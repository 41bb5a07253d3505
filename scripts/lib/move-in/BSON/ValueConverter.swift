import Foundation
import ParseProtocol

/// Why a row cannot be moved, in a sentence.
struct UnreadableRow: Error, Equatable {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}

/// Converts values of MongoDB to the form of REST, as Parse Server does.
struct ValueConverter {
    /// Sentences on what changes, each once.
    private(set) var notes: [String] = []
    private var known: Set<String> = []

    private static let notesMax = 100

    mutating func note(_ sentence: String) {
        guard notes.count < Self.notesMax, known.insert(sentence).inserted else { return }
        notes.append(sentence)
    }

    /// The milliseconds of the years 1 to 9999.
    private static let times: ClosedRange<Int64> = -62_135_596_800_000...253_402_300_799_999

    static func timestamp(_ milliseconds: Int64) throws -> Timestamp {
        guard times.contains(milliseconds) else {
            throw UnreadableRow("A date is outside the years 1 to 9999: \(milliseconds) ms.")
        }
        return Timestamp(milliseconds: milliseconds)
    }

    /// A value inside of a row.
    /// - Parameter depth: how many arrays and objects the value is in.
    /// - Returns: nil for an undefined one.
    mutating func json(_ value: BSON, _ field: String, depth: Int = 1) throws -> JSON? {
        var levels = depth
        // Their form is an object.
        if case .date = value { levels += 1 }
        if case .binary = value { levels += 1 }
        guard levels <= JSON.depthMax else {
            throw UnreadableRow("\(field.debugDescription) is nested deeper than \(JSON.depthMax) levels.")
        }
        switch value {
        case .null: return .null
        case .undefined: return nil
        case .bool(let flag): return .bool(flag)
        case .int32(let number): return .int(Int64(number))
        case .int64, .double, .decimal: return try number(value, field)
        case .string(let text): return .string(text)
        case .date(let milliseconds): return try Self.timestamp(milliseconds).wire
        case .objectId(let digits): return .string(digits)
        case .binary(let bytes): return Self.bytes(bytes)
        case .array(let elements):
            var result: [JSON] = []
            result.reserveCapacity(elements.count)
            for element in elements { result.append(try json(element, field, depth: depth + 1) ?? .null) }
            return .array(result)
        case .document(let document): return try object(document, field, depth: depth)
        case .other(let type):
            throw UnreadableRow("\(field.debugDescription) has \(type), which Parse has no form for.")
        }
    }

    private mutating func object(_ document: BSONDocument, _ field: String, depth: Int) throws -> JSON {
        // Parse Server once stored nested dates in this form.
        if document["__type"] == .string("Date"), case .date(let milliseconds)? = document["iso"],
            let date = try json(.date(milliseconds), field, depth: depth)
        {
            return date
        }
        var members: [String: JSON] = [:]
        for element in document.elements {
            guard let member = try json(element.value, field, depth: depth + 1) else { continue }
            guard !JSON.isProhibited(element.name, member) else {
                throw UnreadableRow(
                    "\(field.debugDescription) has the prohibited key \(element.name.debugDescription).")
            }
            members[element.name] = member
        }
        return .object(members)
    }

    private mutating func number(_ value: BSON, _ field: String) throws -> JSON {
        guard let (number, isExact) = value.number, number.isFinite else {
            throw UnreadableRow("\(field.debugDescription) has a number that JSON cannot have (NaN or infinite).")
        }
        if !isExact { note("Numbers in \(field.debugDescription) have more digits than JSON numbers and are rounded.") }
        return JSON(number: number)
    }

    static func bytes(_ bytes: [UInt8]) -> JSON {
        ["__type": "Bytes", "base64": .string(Data(bytes).base64EncodedString())]
    }
}

extension ValueConverter {
    /// The value of a field of this type by the schema (`{"type": …}`).
    mutating func json(_ value: BSON, _ field: String, of schema: JSON?) throws -> JSON? {
        switch (schema?["type"]?.stringValue, value) {
        case ("File", .string(let name)): return ["__type": "File", "name": .string(name)]
        case ("GeoPoint", .array(let pair)):
            guard let (longitude, latitude) = try pairOfNumbers(pair, field) else { break }
            return ["__type": "GeoPoint", "latitude": latitude, "longitude": longitude]
        case ("Polygon", .document(let polygon)):
            guard polygon["type"] == .string("Polygon"),
                let points = polygon["coordinates"]?.arrayValue?.first?.arrayValue
            else { break }
            var coordinates: [JSON] = []
            for point in points {
                guard let (longitude, latitude) = try pairOfNumbers(point.arrayValue ?? [], field) else {
                    throw UnreadableRow("\(field.debugDescription) is a polygon with a point that is not two numbers.")
                }
                coordinates.append([latitude, longitude])
            }
            return ["__type": "Polygon", "coordinates": .array(coordinates)]
        case ("Bytes", .string(let text)):
            guard Data(base64Encoded: text) != nil else { break }
            return ["__type": "Bytes", "base64": .string(text)]
        case ("Date", .string(let text)):
            guard let time = Timestamp(iso: text) else { break }
            return time.wire
        default: break
        }
        return try json(value, field)
    }

    private mutating func pairOfNumbers(_ pair: [BSON], _ field: String) throws -> (JSON, JSON)? {
        guard pair.count == 2, pair[0].number != nil, pair[1].number != nil else { return nil }
        return (try number(pair[0], field), try number(pair[1], field))
    }
}
