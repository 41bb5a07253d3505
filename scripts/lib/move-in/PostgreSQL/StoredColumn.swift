import ParseProtocol

/// Why a row cannot be moved, in a sentence.
struct RowProblem: Error {
    var reason: String

    init(_ reason: String) { self.reason = reason }
}

/// A column of a table of Parse Server.
struct StoredColumn: Sendable, Equatable {
    /// Forms of values, after PostgreSQL's type.
    enum Form: Sendable {
        case text, texts, time, json, bool, number, point, polygon
    }

    var name: String
    let form: Form

    /// - Parameter type: PostgreSQL's name of the type, such as `timestamp with time zone`.
    init(name: String, type: String) {
        self.name = name
        let type = type.lowercased()
        form =
            switch type {
            case "jsonb", "json": .json
            case "boolean", "bool": .bool
            case "double precision", "real", "integer", "bigint", "smallint", "int": .number
            case "point": .point
            case "polygon": .polygon
            case "date": .time
            case _ where type.hasSuffix("[]"): .texts
            case _ where type.hasPrefix("timestamp"): .time
            case _ where type.hasPrefix("numeric"): .number
            default: .text
            }
    }

    /// The type of a field with this form, as in Parse's schema.
    var fieldType: String {
        switch form {
        case .text: "String"
        case .texts: "Array"
        case .time: "Date"
        case .json: "Object"
        case .bool: "Boolean"
        case .number: "Number"
        case .point: "GeoPoint"
        case .polygon: "Polygon"
        }
    }

    /// The value in the form of REST.
    func value(_ bytes: [UInt8]) throws(RowProblem) -> JSON {
        if form == .json { return try json(bytes) }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw RowProblem("The column \(name) is not valid UTF-8.")
        }
        if form == .text { return try bounded(text) }
        let value: JSON? =
            switch form {
            case .text, .json: nil
            case .texts: ArrayLiteral.elements(text)
            case .time: StoredTime(text)?.time.wire
            case .bool: text == "t" || text == "f" ? .bool(text == "t") : nil
            case .number: Self.number(text).map { JSON(number: $0) }
            case .point: Self.point(text)
            case .polygon: Self.polygon(text)
            }
        guard let value else {
            throw RowProblem("The column \(name) has the value \(text.prefix(40)), which no \(fieldType) has in Parse.")
        }
        return value
    }

    private func json(_ bytes: [UInt8]) throws(RowProblem) -> JSON {
        let value: JSON
        do throws(JSONError) {
            value = try JSON(parsing: bytes)
            // A row adds one level, the members of authData two.
            if value.isNested(deeperThan: JSON.depthMax - 2) { throw .tooDeep }
        } catch {
            switch error {
            case .tooDeep: throw RowProblem("The column \(name) is nested deeper than \(JSON.depthMax - 2) levels.")
            case .tooManyValues: throw RowProblem("The column \(name) has more than \(JSON.valuesMax) values.")
            default: throw RowProblem("The column \(name) is not valid JSON, or has a number out of range.")
            }
        }
        return value
    }

    /// A text, with overlong runs of combining marks separated as in JSON.
    private func bounded(_ text: String) throws(RowProblem) -> JSON {
        try text.exceedsMarkLimit ? json(JSON.string(text).serialized) : .string(text)
    }

    private static let digits = Set("+-.0123456789eE".utf8)

    /// A finite number in decimal digits.
    private static func number(_ text: some StringProtocol) -> Double? {
        guard text.utf8.allSatisfy(digits.contains), let number = Double(String(text)), number.isFinite else {
            return nil
        }
        return number
    }

    /// The coordinates of `(1.5,-2)`: Parse Server stores the longitude first.
    private static func coordinates(_ text: some StringProtocol) -> (latitude: JSON, longitude: JSON)? {
        let parts = text.split(separator: ",", omittingEmptySubsequences: false)
        guard parts.count == 2, let x = number(parts[0]), let y = number(parts[1]) else { return nil }
        return (JSON(number: y), JSON(number: x))
    }

    private static func point(_ text: String) -> JSON? {
        guard text.hasPrefix("("), text.hasSuffix(")"), let corner = coordinates(text.dropFirst().dropLast()) else {
            return nil
        }
        return ["__type": "GeoPoint", "latitude": corner.latitude, "longitude": corner.longitude]
    }

    /// The polygon of `((0,0),(1,0),(1,1))`.
    private static func polygon(_ text: String) -> JSON? {
        guard text.hasPrefix("(("), text.hasSuffix("))"), text.utf8.count > 4 else { return nil }
        var corners: [JSON] = []
        for part in text.dropFirst(2).dropLast(2).split(separator: "),(", omittingEmptySubsequences: false) {
            guard let corner = coordinates(part) else { return nil }
            corners.append([corner.latitude, corner.longitude])
        }
        return ["__type": "Polygon", "coordinates": .array(corners)]
    }
}

/// A time as PostgreSQL writes it with the DateStyle ISO, which pg_dump sets: `2026-11-27 12:30:39.116+00`.
struct StoredTime {
    let time: Timestamp

    /// Nil for a time that Parse lacks: an infinite one, or one outside of the years 1 to 9999.
    init?(_ text: String) {
        var text = text
        if let space = text.firstIndex(of: " ") { text.replaceSubrange(space...space, with: "T") }
        // Before the introduction of zones, a zone has seconds: `1883-01-01 00:00:00-07:52:58`.
        let zone = Array(text.utf8.suffix(9))
        var seconds: Int64 = 0
        if zone.count == 9, zone[0] == UInt8(ascii: "+") || zone[0] == UInt8(ascii: "-"), zone[3] == UInt8(ascii: ":"),
            zone[6] == UInt8(ascii: ":")
        {
            guard let number = Int64(String(decoding: zone[7...], as: UTF8.self)), (0..<60).contains(number) else {
                return nil
            }
            seconds = zone[0] == UInt8(ascii: "+") ? -number : number
            text.removeLast(3)
        }
        guard let time = Timestamp(iso: text) else { return nil }
        self.time = Timestamp(milliseconds: time.milliseconds + seconds * 1000)
    }
}

/// PostgreSQL's text form of an array: `{*,"role:a b",NULL}`.
enum ArrayLiteral {
    /// Nil for an array of several dimensions, for malformed text and for overlong runs of combining marks.
    static func elements(_ text: String) -> JSON? {
        guard text.hasPrefix("{"), text.hasSuffix("}"), text.utf8.count >= 2 else { return nil }
        var rest = text.utf8.dropFirst().dropLast()
        if rest.isEmpty { return [] }
        var elements: [JSON] = []
        while true {
            guard let element = next(&rest) else { return nil }
            elements.append(element)
            guard let separator = rest.popFirst() else { return .array(elements) }
            guard separator == UInt8(ascii: ",") else { return nil }
        }
    }

    private static func next(_ rest: inout Substring.UTF8View) -> JSON? {
        let isQuoted = rest.first == UInt8(ascii: "\"")
        if isQuoted { rest.removeFirst() }
        var element: [UInt8] = []
        while let byte = rest.first {
            switch byte {
            case UInt8(ascii: "\""):
                guard isQuoted else { return nil }
                rest.removeFirst()
                let text = String(decoding: element, as: UTF8.self)
                return text.exceedsMarkLimit ? nil : .string(text)
            case UInt8(ascii: ",") where !isQuoted: return plain(element)
            case UInt8(ascii: "{") where !isQuoted, UInt8(ascii: "}") where !isQuoted: return nil
            case UInt8(ascii: "\\"):
                rest.removeFirst()
                guard let escaped = rest.popFirst() else { return nil }
                element.append(escaped)
            default:
                element.append(byte)
                rest.removeFirst()
            }
        }
        return isQuoted ? nil : plain(element)
    }

    private static func plain(_ element: [UInt8]) -> JSON? {
        let text = String(decoding: element, as: UTF8.self)
        if text.isEmpty || text.exceedsMarkLimit { return nil }
        return text.uppercased() == "NULL" ? .null : .string(text)
    }
}
