"""Chapter 05: how a broker becomes the controller through ZooKeeper, and how it loses this role."""
