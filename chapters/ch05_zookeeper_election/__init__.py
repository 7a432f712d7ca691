"""Chapter 05: how a broker becomes the controller by ZooKeeper, and how it stops being it."""
