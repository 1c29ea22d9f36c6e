"""The contracts between the engine, its plugins and the kits: data, hooks, options. `cdckit` gives its public names."""
