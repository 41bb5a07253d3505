import Foundation
import ParseProtocol

/// A position in the rows of a query: after one object, by the sort values that it had when it was read.
///
/// Because the cursor contains the values, it remains valid when that object is changed or deleted. Clients return it
/// unchanged. It contains only information that the page contained, and a forged one only selects another part of the
/// same rows, so it needs no signature.
struct QueryCursor: Equatable {
    let className: String
    /// The query's order, which the values belong to.
    let order: [String]
    let values: [SQLValue]
    /// The object's row and id: rows with equal values come in order of creation.
    let row: Int64
    let objectId: String

    /// The first character of a cursor's text; no objectId begins with it.
    static let mark: Character = "~"
    /// Limit of a cursor's bytes; it is part of the URLs of the next pages.
    static let bytesMax = 6_000

    init(className: String, order: [String], values: [SQLValue], row: Int64, objectId: String) {
        self.className = className
        self.order = order
        self.values = values
        self.row = row
        self.objectId = objectId
    }

    /// - Throws: `.invalidQuery` (102) for a text that is not a cursor.
    init(text: String) throws {
        guard text.first == QueryCursor.mark, text.utf8.count <= QueryCursor.bytesMax,
            let data = QueryCursor.data(base64URL: text.dropFirst()), let json = try? JSON(parsing: data),
            let parts = json.arrayValue, parts.count == 5, let className = parts[0].stringValue,
            let order = parts[1].arrayValue, let values = parts[2].arrayValue, let row = parts[3].intValue,
            let objectId = parts[4].stringValue
        else { throw QueryCursor.invalid }
        self.className = className
        self.order = order.compactMap(\.stringValue)
        self.values = try values.map { value in
            switch value {
            case .null: .null
            case .int(let number): .int(number)
            case .double(let number): .real(number)
            case .string(let text): .text(text)
            default: throw QueryCursor.invalid
            }
        }
        self.row = row
        self.objectId = objectId
    }

    static let invalid = ParseError(.invalidQuery, "after is neither an objectId nor a cursor of this query.")

    /// - Throws: `.invalidQuery` (102) when the values are too long for a cursor.
    func text() throws -> String {
        let values = values.map { value -> JSON in
            switch value {
            case .int(let number): .int(number)
            case .real(let number): .double(number)
            case .text(let text): .string(text)
            case .null, .blob: .null
            }
        }
        let json: JSON = [
            .string(className), .array(order.map(JSON.string)), .array(values), .int(row), .string(objectId),
        ]
        let text = Data(json.serialized).base64EncodedString()
            .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
        guard text.utf8.count < QueryCursor.bytesMax else {
            throw ParseError(.invalidQuery, "A value of the order is too long for a cursor; order by a shorter field.")
        }
        return String(QueryCursor.mark) + text
    }

    private static func data(base64URL text: Substring) -> Data? {
        let plain = text.replacing("-", with: "+").replacing("_", with: "/")
        return Data(base64Encoded: plain + String(repeating: "=", count: (4 - plain.utf8.count % 4) % 4))
    }

    // MARK: SQL

    /// The conditions that a row comes after this position; an index answers the first of them.
    /// - Throws: `.invalidQuery` (102) when the cursor belongs to another query.
    func condition(
        _ query: (className: String, order: [String]), _ order: QueryOrder, isDescending: Bool,
        _ compiler: inout ConditionCompiler
    ) throws -> [ConditionPart] {
        guard className == query.className, self.order == query.order, values.count == order.terms.count else {
            throw ParseError(.invalidQuery, "The cursor is of a query with another class or order.")
        }
        let rowNumber = compiler.bind(.int(row))
        // SQLite may reuse the number of a deleted last row for the next object, which the client has not seen.
        let made = """
            (o.id\(isDescending ? "<" : ">")\(rowNumber) \
            OR (o.id=\(rowNumber) AND o.objectId<>\(compiler.bind(.text(objectId)))))
            """
        var condition = made
        var bound = "o.id\(isDescending ? "<=" : ">=")\(rowNumber)"
        var column = "o.id"
        for (term, value) in zip(order.terms, values).reversed() {
            let name = term.value
            column = name
            if value == .null {
                // Missing values come first: all other values follow them, or in a descending order none.
                condition = "(\(name) IS NULL AND \(condition))"
                if !term.isDescending { condition = "(\(name) IS NOT NULL OR \(condition))" }
                bound = term.isDescending ? "\(name) IS NULL" : "TRUE"
                continue
            }
            let mark = try term.mark(of: value, &compiler)
            let beyond =
                term.isDescending
                ? "\(name)<\(mark)\(term.isNeverMissing ? "" : " OR \(name) IS NULL")" : "\(name)>\(mark)"
            condition = "(\(beyond) OR (\(name)=\(mark) AND \(condition)))"
            // Implied by the condition; an index can use it.
            bound = "\(name)\(term.isDescending ? "<=" : ">=")\(mark)"
            if term.isDescending, !term.isNeverMissing { bound = "(\(bound) OR \(name) IS NULL)" }
        }
        return [
            ConditionPart(sql: bound, term: IndexTerm(bound, comparing: column, of: "o"), isBroad: true),
            ConditionPart(sql: condition, isBroad: true),
        ]
    }
}

extension QueryOrder.Term {
    /// The column in the form that indexes use.
    var column: String { value.replacing("o.", with: "", maxReplacements: 1) }

    /// A sort value of a cursor, bound.
    /// - Throws: `.invalidQuery` (102) for a value that no cursor contains.
    fileprivate func mark(of value: SQLValue, _ compiler: inout ConditionCompiler) throws -> String {
        if dialect == .sqlite { return compiler.bind(value) }
        switch (operand, value) {
        case (.integer, .int), (.flag, .int), (.number, .int), (.number, .real), (.text, .text):
            return compiler.bind(value, as: operand)
        case (.json, .text(let text)) where (try? JSON(parsing: text)) != nil:
            return compiler.bind(value, as: operand)
        default: throw QueryCursor.invalid
        }
    }

    /// True for the columns that every object has.
    var isNeverMissing: Bool { ["o.objectId", "o.createdAt", "o.updatedAt"].contains(value) }
}

/// The start of a page.
enum PageStart: Equatable {
    /// At the first row; the next pages use cursors.
    case beginning
    /// After an object, at its current position.
    case object(String)
    case cursor(QueryCursor)

    /// - Parameter text: empty, an objectId or a cursor.
    /// - Throws: `.invalidQuery` (102).
    init(_ text: String) throws {
        if text.isEmpty {
            self = .beginning
        } else if text.first == QueryCursor.mark {
            self = .cursor(try QueryCursor(text: text))
        } else if Names.isObjectId(text) {
            self = .object(text)
        } else {
            throw QueryCursor.invalid
        }
    }
}
