import Foundation
import ParseProtocol

/// Extended JSON of MongoDB, versions 1 and 2, canonical and relaxed, as mongoexport writes it. For a repeated name the
/// last value counts.
enum ExtendedJSON {
    /// - Throws: `UnreadableRow`.
    static func document(_ text: [UInt8]) throws -> BSONDocument {
        let json: JSON
        do {
            json = try JSON(clientText: text)
        } catch {
            throw UnreadableRow("The row is damaged: \(error.message)")
        }
        guard case .document(let document) = try value(json) else { throw UnreadableRow("The row is no document.") }
        return document
    }

    private static func value(_ json: JSON) throws -> BSON {
        switch json {
        case .null: return .null
        case .bool(let flag): return .bool(flag)
        case .int(let number): return .int64(number)
        case .double(let number): return .double(number)
        case .string(let text): return .string(text)
        case .array(let elements): return .array(try elements.map(value))
        case .object(let members):
            if let value = try typed(members) { return value }
            let elements = try members.sorted { $0.key < $1.key }.map { name, member in
                BSONDocument.Element(name: name, value: try value(member))
            }
            return .document(BSONDocument(elements: elements))
        }
    }

    /// The value of an object that stands for another type; nil for a plain object, which may have names with `$`.
    private static func typed(_ members: [String: JSON]) throws -> BSON? {
        let names = members.keys.filter { $0.hasPrefix("$") }.sorted()
        guard names.count == members.count, let name = names.first, let value = members[name] else { return nil }
        switch names {
        case ["$oid"]:
            guard let text = value.stringValue, let bytes = [UInt8](hex: text), bytes.count == 12 else { break }
            return .objectId(bytes.hex)
        case ["$numberInt"], ["$numberLong"]:
            guard let number = value.stringValue.flatMap({ Int64($0) }) ?? value.intValue else { break }
            return .int64(number)
        case ["$numberDouble"]:
            guard let number = value.stringValue.flatMap({ Double($0) }) ?? value.doubleValue else { break }
            return .double(number)
        case ["$numberDecimal"]:
            guard let text = value.stringValue, Double(text) != nil else { break }
            return .decimal(text)
        case ["$date"]:
            guard let time = milliseconds(value) else { break }
            return .date(time)
        case ["$binary"]:
            guard let bytes = value["base64"]?.stringValue.flatMap({ Data(base64Encoded: $0) }) else { break }
            return .binary(Array(bytes))
        case ["$binary", "$type"]:
            guard let bytes = value.stringValue.flatMap({ Data(base64Encoded: $0) }) else { break }
            return .binary(Array(bytes))
        case ["$uuid"]:
            guard let text = value.stringValue, let bytes = [UInt8](hex: text.filter { $0 != "-" }), bytes.count == 16
            else { break }
            return .binary(bytes)
        case ["$symbol"]:
            guard let text = value.stringValue else { break }
            return .string(text)
        case ["$undefined"]: return .undefined
        case ["$regularExpression"], ["$options", "$regex"]: return .other("a regular expression")
        case ["$timestamp"]: return .other("an internal timestamp")
        case ["$code"], ["$code", "$scope"]: return .other("code")
        case ["$dbPointer"]: return .other("a database pointer")
        case ["$maxKey"], ["$minKey"]: return .other("a smallest or largest key")
        default: return nil
        }
        throw UnreadableRow("The value of \(name) is not as Extended JSON has it.")
    }

    private static func milliseconds(_ date: JSON) -> Int64? {
        if let text = date.stringValue { return Timestamp(iso: text)?.milliseconds }
        return date["$numberLong"]?.stringValue.flatMap { Int64($0) } ?? date.intValue
    }
}
