import ParseProtocol

/// A step into a JSON value: a member's name or an element's position.
package enum JSONStep: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral {
    case member(String)
    case element(Int)

    package init(stringLiteral value: String) { self = .member(value) }
    package init(integerLiteral value: Int) { self = .element(value) }
}

extension JSON {
    /// The value at the end of a path; nil when a step leads nowhere.
    package func at(_ steps: JSONStep...) -> JSON? {
        steps.reduce(self as JSON?) { value, step in
            switch step {
            case .member(let name): return value?[name]
            case .element(let index):
                guard let elements = value?.arrayValue, elements.indices.contains(index) else { return nil }
                return elements[index]
            }
        }
    }

    /// The member as text, empty when there is none.
    package func text(_ name: String) -> String { self[name]?.stringValue ?? "" }
    package var objectId: String { text("objectId") }
}
