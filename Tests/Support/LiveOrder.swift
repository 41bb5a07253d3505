/// Things that happened at one moment each, of which only bounds are known, and what is known of their order. Pure.
///
/// The bounds are an order too: what ended before something else began was there first. All of it together can be one
/// order, or goes round in a circle.
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

    /// A circle, in words; nil when there is an order.
    ///
    /// Nodes are placed one after the other (Kahn, "Topological sorting of large networks", 1962): the next one is any
    /// that follows none that is left. Of the bounds only the earliest end that is left needs a look.
    var contradiction: String? {
        var missing = [Int](repeating: 0, count: nodes.count)
        for node in nodes { for follower in node.followers { missing[follower.node] += 1 } }
        let byEnd = nodes.indices.sorted { nodes[$0].span.end < nodes[$1].span.end }
        var isPlaced = [Bool](repeating: false, count: nodes.count)
        var ready = nodes.indices.filter { missing[$0] == 0 }
        // Those that only the bounds keep back.
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

    /// Each that is left follows another one that is left: whoever goes back from one to the other comes round.
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
