"""The exercises of chapter 05: the brokers elect a controller through ZooKeeper."""
