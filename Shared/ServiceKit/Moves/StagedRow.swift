import Cryptography
import ParseProtocol

/// A row of another server that waits for the switch: a line of `POST /moves/rows/<Class>`.
struct StagedRow: Sendable {
    /// `<owningId>:<relatedId>` for a row of a relation.
    let objectId: String
    /// Milliseconds since 1970; 0 if the other server has no time.
    let updatedAt: Int64
    /// The row in the form that `/import` takes.
    let text: [UInt8]
    /// The lower 64 bits of the text's SHA-256, in hexadecimal digits; empty when it is not needed.
    var checksum = ""

    static let rowsMax = 5000
    /// More than an object may have: rows of users also have secrets. The switch holds some hundred texts in memory.
    private static let textBytesMax = 256 << 10
    private static let tab = UInt8(ascii: "\t")

    /// Reads the lines of a body.
    /// - Throws: `.invalidJSON` (107) with the number of a malformed line, `.objectTooLarge` (116) for too many lines
    ///   and with the number of a line that is too long.
    static func rows(in body: [UInt8], of className: String) throws(ParseError) -> [StagedRow] {
        let isMember = StagedRelation(className) != nil
        var rows: [StagedRow] = []
        var rest = body[...]
        while !rest.isEmpty {
            guard rows.count < rowsMax else {
                throw ParseError(.objectTooLarge, "A request stages at most \(rowsMax) rows.")
            }
            let end = rest.firstIndex(of: UInt8(ascii: "\n")) ?? rest.endIndex
            rows.append(try row(rest[..<end], number: rows.count + 1, isMember: isMember))
            rest = rest[end...].dropFirst()
        }
        return rows
    }

    private static func row(
        _ line: ArraySlice<UInt8>, number: Int, isMember: Bool
    ) throws(ParseError) -> StagedRow {
        let parts = line.split(separator: tab, maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3 else { throw malformed(number, "It has no id, time and object.") }
        let id = String(decoding: parts[0], as: UTF8.self)
        guard isMember ? StagedRelation.members(id) != nil : Names.isObjectId(id) else {
            throw malformed(number, "The id is not valid.")
        }
        guard let updatedAt = Int64(String(decoding: parts[1], as: UTF8.self)), updatedAt >= 0 else {
            throw malformed(number, "The time is not valid.")
        }
        guard parts[2].count <= textBytesMax else {
            throw ParseError(.objectTooLarge, "Line \(number) is longer than \(textBytesMax >> 10) KB.")
        }
        let text = Array(parts[2])
        let object: JSON
        do throws(ParseError) {
            object = try JSON(clientText: text)
        } catch {
            throw malformed(number, error.message)
        }
        guard case .object = object else { throw malformed(number, "An object is needed.") }
        let checksum = SHA256.hash(data: text).suffix(MemoryLayout<UInt64>.size).hex
        return StagedRow(objectId: id, updatedAt: updatedAt, text: text, checksum: checksum)
    }

    private static func malformed(_ number: Int, _ reason: String) -> ParseError {
        ParseError(.invalidJSON, "Line \(number) is malformed. \(reason)")
    }
}

/// The rows of a relation in another server's database: the class `_Join:<field>:<Class>`.
struct StagedRelation: Sendable {
    let field: String
    let className: String

    /// Nil for any other name. The gateway has checked the parts.
    init?(_ name: String) {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, parts[0] == "_Join" else { return nil }
        field = parts[1]
        className = parts[2]
    }

    /// The owner and the member in the id of a row.
    static func members(_ id: String) -> (owner: String, member: String)? {
        let parts = id.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, parts.allSatisfy(Names.isObjectId) else { return nil }
        return (parts[0], parts[1])
    }
}
