/// Events in time with known bounds only, and known constraints on their order. Pure.
///
/// The bounds are constraints too: if one event ended before another began, it comes first. Together the constraints
/// allow a total order, or contain a cycle.
struct LiveOrder {
    private struct Node {
        let name: String
        let span: LiveHistory.Span
        var followers: [(node: Int, reason: String)] = []
    }

    private var nodes: [Node] = []

    mutating func add(_ name: String, _ span: LiveHistory.Span) -> Int {
        nodes.append(Node(name: name, span: span))
        return nodes.count - 1
    }

    mutating func require(_ first: Int, before second: Int, _ reason: String) {
        nodes[first].followers.append((second, reason))
    }

    /// A cycle as text; nil when there is a total order.
    ///
    /// Topological sorting (Kahn, "Topological sorting of large networks", 1962): the next node is any node without an
    /// unplaced predecessor. For the bounds, only the earliest end among the unplaced nodes must be compared.
    var contradiction: String? {
        var missing = [Int](repeating: 0, count: nodes.count)
        for node in nodes { for follower in node.followers { missing[follower.node] += 1 } }
        let byEnd = nodes.indices.sorted { nodes[$0].span.end < nodes[$1].span.end }
        var isPlaced = [Bool](repeating: false, count: nodes.count)
        var ready = nodes.indices.filter { missing[$0] == 0 }
        // Nodes that only the bounds hold back.
        var early: [Int] = []
        var next = 0
        while true {
            let former = next
            while next < byEnd.count, isPlaced[byEnd[next]] { next += 1 }
            guard next < byEnd.count else { return nil }
            if next != former {
                ready += early
                early = []
            }
            guard let node = ready.popLast() else { return circle(of: isPlaced, earliest: byEnd[next]) }
            guard !nodes[byEnd[next]].span.precedes(nodes[node].span) else {
                early.append(node)
                continue
            }
            isPlaced[node] = true
            for follower in nodes[node].followers {
                missing[follower.node] -= 1
                if missing[follower.node] == 0 { ready.append(follower.node) }
            }
        }
    }

    /// Each unplaced node has an unplaced predecessor, so following predecessors leads into a cycle.
    private func circle(of isPlaced: [Bool], earliest: Int) -> String {
        var leaders: [Int: (node: Int, reason: String)] = [:]
        for index in nodes.indices where !isPlaced[index] {
            for (follower, reason) in nodes[index].followers { leaders[follower] = (index, reason) }
        }
        var path: [Int] = []
        var texts: [String] = []
        var node = earliest
        while !path.contains(node) {
            path.append(node)
            let leader = leaders[node] ?? (earliest, "ended before the other began")
            texts.append("“\(nodes[leader.node].name)” was before “\(nodes[node].name)” (\(leader.reason))")
            node = leader.node
        }
        let start = path.firstIndex(of: node) ?? 0
        return "No order explains that " + texts[start...].joined(separator: ", ") + "."
    }
}
