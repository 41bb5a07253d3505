import ParseProtocol

/// One key of an order.
struct OrderTerm {
    let key: String
    let isDescending: Bool

    init(_ text: String) throws {
        isDescending = text.hasPrefix("-")
        key = isDescending ? String(text.dropFirst()) : text
        guard key.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || $0 == "_" || $0 == ".") }), !key.isEmpty else {
            throw Evaluator.Refused.key
        }
    }

    /// Whether one document comes before another; nil when this key makes no difference.
    func isBefore(_ a: JSON, _ b: JSON, _ evaluator: Evaluator) -> Bool? {
        let (first, second) = (Rank(evaluator.value(of: key, in: a)), Rank(evaluator.value(of: key, in: b)))
        if first.isSame(as: second) { return nil }
        return first.isLess(than: second) != isDescending
    }

    /// Missing values and nulls come first, then numbers and truth values (false is 0, true is 1), then texts by their bytes. Pointers are
    /// in the order of their ids, Dates of their time, Files of their name, Bytes of their base64; what has no order of its own is in
    /// that of its JSON text.
    private enum Rank {
        case nothing
        case number(Double)
        case text([UInt8])

        init(_ value: JSON?) {
            switch value {
            case nil, .null: self = .nothing
            case .bool(let flag): self = .number(flag ? 1 : 0)
            case .int(let number): self = .number(Double(number))
            case .double(let number): self = .number(number)
            case .string(let text): self = .text(Array(text.utf8))
            case .some(let value):
                let member = ["Pointer": "objectId", "Date": "iso", "File": "name", "Bytes": "base64"][value.wireType ?? ""]
                let text = member.flatMap { value[$0]?.stringValue }.map { Array($0.utf8) }
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
