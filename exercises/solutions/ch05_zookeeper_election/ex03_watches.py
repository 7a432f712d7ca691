"""Exercise 05-3: the reference solution (ZooKeeper: DataTree, WatchManager)."""

Message = tuple[int, str, str]  # (client, what, path)


class ZooKeeper:
    """A tree of znodes without data, and the watches that clients have set."""

    def __init__(self) -> None:
        """Begin with one znode, `/`, and without watches."""
        self.paths = {"/"}
        self.data: dict[str, dict[int, None]] = {}
        self.children: dict[str, dict[int, None]] = {}

    def request(self, client: int, verb: str, path: str, watch: bool) -> list[Message]:
        """Carry out a request. Return the notifications that it fires, and then its answer."""
        error = self.error(verb, path)
        if watch and (verb == "exists" or not error):
            watches = self.children if verb == "children" else self.data
            watches.setdefault(path, {})[client] = None
        if error:
            return [(client, error, path)]
        parent = path.rpartition("/")[0] or "/"
        messages: list[Message] = []
        if verb == "create":
            self.paths.add(path)
            messages += self.fire(self.data, path, "NodeCreated")
            messages += self.fire(self.children, parent, "NodeChildrenChanged")
        elif verb == "set":
            messages += self.fire(self.data, path, "NodeDataChanged")
        elif verb == "delete":
            self.paths.remove(path)
            messages += self.fire(self.data, path, "NodeDeleted")
            notified = [one for one, _, _ in messages]
            for message in self.fire(self.children, path, "NodeDeleted"):
                if message[0] not in notified:
                    messages.append(message)
            messages += self.fire(self.children, parent, "NodeChildrenChanged")
        return [*messages, (client, "OK", path)]

    def error(self, verb: str, path: str) -> str:
        """Return the error of a request; empty if the request can be carried out."""
        if verb == "create":
            if path in self.paths:
                return "NODE_EXISTS"
            return "" if (path.rpartition("/")[0] or "/") in self.paths else "NO_NODE"
        if path not in self.paths:
            return "NO_NODE"
        if verb == "delete" and any(one.startswith(path + "/") for one in self.paths):
            return "NOT_EMPTY"
        return ""

    def fire(self, watches: dict[str, dict[int, None]], path: str, what: str) -> list[Message]:
        """Remove the watches of a path, and return a notification for each of them."""
        return [(client, what, path) for client in watches.pop(path, {})]

    def closed(self, client: int) -> None:
        """Remove all watches of a client whose connection is gone."""
        for watches in (self.data, self.children):
            for clients in watches.values():
                clients.pop(client, None)
