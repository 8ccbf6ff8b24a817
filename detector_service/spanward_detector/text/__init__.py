"""What can be told from texts without a model: what stands in them, numbers however spelled, shared words. Pure."""
