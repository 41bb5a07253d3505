/// PostgreSQL's plan of a query as steps, for `ObjectReader.explain`.
///
/// `EXPLAIN` returns lines. A line with `->` is a step, indented deeper than the step that it serves. The lines after
/// it are its details, such as `Index Cond: …`.
package struct PostgreSQLPlan {
    package struct Step: Equatable {
        /// From 1.
        package let id: Int64
        /// The step that it serves; 0 for none.
        package let parent: Int64
        /// The step's action and its details, separated by `; `.
        package var detail: String

        package init(id: Int64, parent: Int64, detail: String) {
            self.id = id
            self.parent = parent
            self.detail = detail
        }
    }

    package private(set) var steps: [Step] = []

    package init(lines: [String]) {
        var above: [(indent: Int, id: Int64)] = []
        for line in lines {
            let text = line.drop(while: { $0 == " " })
            let indent = line.count - text.count
            guard text.hasPrefix("->") || steps.isEmpty else {
                steps[steps.count - 1].detail += "; \(text)"
                continue
            }
            above.removeAll { $0.indent >= indent }
            let id = Int64(steps.count + 1)
            let detail = text.hasPrefix("->") ? text.dropFirst(2).drop(while: { $0 == " " }) : text
            steps.append(Step(id: id, parent: above.last?.id ?? 0, detail: String(detail)))
            above.append((steps.count == 1 ? -1 : indent, id))
        }
    }
}
