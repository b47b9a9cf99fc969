"""For each verb its request and its answer, and all rules about arguments."""
