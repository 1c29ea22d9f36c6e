"""The serializers that come with the engine."""
