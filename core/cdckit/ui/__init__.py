"""The page to look at: `cdc ui`, and what `cdc top` shows of it; the state folders of many pipelines, read anew."""
