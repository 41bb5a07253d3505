import ParseProtocol

/// One key of an order.
struct OrderTerm {
    let key: String
    let isDescending: Bool

    init(_ text: String) throws {
        isDescending = text.hasPrefix("-")
        key = isDescending ? String(text.dropFirst()) : text
        guard key.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ".") }), !key.isEmpty
        else {
            throw Evaluator.Refused.key
        }
        guard Evaluator.indexCount(key) <= 2 else { throw Evaluator.Refused.query }
    }

    /// A document's rank for this key.
    func rank(of document: JSON, _ evaluator: Evaluator) -> Rank {
        Rank(evaluator.value(of: key, in: document), isField: evaluator.kind(of: key) != nil)
    }

    /// Whether one document comes before another; nil if they are equal for this key.
    func isBefore(_ first: Rank, _ second: Rank) -> Bool? {
        if first.isSame(as: second) { return nil }
        return first.isLess(than: second) != isDescending
    }

    /// Missing values and nulls come first, then numbers and booleans (false is 0, true is 1), then strings by their
    /// bytes. Pointer fields are ordered by id, Dates by time, Files by name, Bytes by base64. All other values, and
    /// these types inside an Object, are ordered by their JSON text.
    enum Rank {
        case nothing
        case number(Double)
        case text([UInt8])

        init(_ value: JSON?, isField: Bool) {
            switch value {
            case nil, .null: self = .nothing
            case .bool(let flag): self = .number(flag ? 1 : 0)
            case .int(let number): self = .number(Double(number))
            case .double(let number): self = .number(number)
            case .string(let text): self = .text(Array(text.utf8))
            case .some(let value):
                let member = ["Pointer": "objectId", "Date": "iso", "File": "name", "Bytes": "base64"][
                    value.wireType ?? ""]
                let text = (isField ? member : nil).flatMap { value[$0]?.stringValue }.map { Array($0.utf8) }
                self = .text(text ?? value.serialized)
            }
        }

        func isSame(as other: Rank) -> Bool {
            switch (self, other) {
            case (.nothing, .nothing): true
            case (.number(let a), .number(let b)): a == b
            case (.text(let a), .text(let b)): a == b
            default: false
            }
        }

        func isLess(than other: Rank) -> Bool {
            switch (self, other) {
            case (.nothing, .nothing): false
            case (.nothing, _): true
            case (.number(let a), .number(let b)): a < b
            case (.number, .text): true
            case (.text(let a), .text(let b)): a.lexicographicallyPrecedes(b)
            default: false
            }
        }
    }
}
