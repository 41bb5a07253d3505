import ParseProtocol

/// Checks values in clients' requests and converts them to the single form that is stored and compared: dates with
/// three decimals, `Object` hashes as pointers, closed polygons, no members outside of the protocol.
public enum WireValue {
    /// - Throws: `.incorrectType` (111) for a malformed typed value, `.invalidJSON` (107) for a value that cannot be
    ///   stored, `.invalidNestedKey` (121) and `.invalidKeyName` (105) for nested keys that are not allowed.
    public static func normalized(_ value: JSON) throws -> JSON {
        switch value {
        case .null, .bool, .int: return value
        case .double(let number):
            guard number.isFinite else { throw ParseError(.invalidJSON, "A number must be finite.") }
            return JSON(number: number)
        case .string(let text):
            try checkText(text)
            return value
        case .array(let elements):
            return .array(try elements.map(normalized))
        case .object(let members):
            if let type = members["__type"] {
                guard case .string(let name) = type else { throw invalid("Object") }
                return try hash(name, value)
            }
            if members["__op"] != nil {
                throw ParseError(.invalidJSON, "An operator is only possible as the value of a field.")
            }
            var result: [String: JSON] = [:]
            result.reserveCapacity(members.count)
            for (key, member) in members {
                try checkNestedKey(key, member)
                result[key] = try normalized(member)
            }
            return .object(result)
        }
    }

    /// SQLite's JSON functions end a text at U+0000, so such a text could not be found by its value.
    private static func checkText(_ text: String) throws {
        if text.hasNull { throw ParseError(.invalidJSON, "A text must not contain the character U+0000.") }
    }

    static func checkNestedKey(_ key: String, _ value: JSON) throws {
        if key.utf8.contains(where: { $0 == UInt8(ascii: "$") || $0 == UInt8(ascii: ".") }) {
            throw ParseError(.invalidNestedKey, "Nested keys should not contain the '$' or '.' characters")
        }
        if JSON.isProhibited(key, value) { throw ParseError.prohibitedKey(key) }
        try checkText(key)
    }

    private static func invalid(_ type: String) -> ParseError {
        ParseError(.incorrectType, "This is not a valid \(type.prefix(40))")
    }

    private static func hash(_ type: String, _ value: JSON) throws -> JSON {
        switch type {
        case "Date":
            guard let iso = value["iso"]?.stringValue, let time = Timestamp(iso: iso) else { throw invalid(type) }
            return time.wire
        case "Pointer", "Object":
            guard let target = value.pointerTarget, Names.isClassName(target.className),
                Names.isObjectId(target.objectId)
            else { throw invalid(type) }
            return .pointer(target.className, target.objectId)
        case "Relation":
            guard let target = value["className"]?.stringValue, Names.isClassName(target) else { throw invalid(type) }
            return .relation(target)
        case "File":
            guard let name = value["name"]?.stringValue, (1...200).contains(name.utf8.count) else {
                throw invalid(type)
            }
            try checkText(name)
            // A client's url could point anywhere, so it is dropped; the url is added when the file is read.
            return ["__type": "File", "name": .string(name)]
        case "Bytes":
            guard let text = value["base64"]?.stringValue, isBase64(text) else { throw invalid(type) }
            return ["__type": "Bytes", "base64": .string(text)]
        case "GeoPoint":
            guard let latitude = value["latitude"], let longitude = value["longitude"],
                isCoordinate(latitude, 90), isCoordinate(longitude, 180)
            else { throw invalid(type) }
            return ["__type": "GeoPoint", "latitude": try normalized(latitude), "longitude": try normalized(longitude)]
        case "Polygon": return try polygon(value)
        default: throw invalid(type)
        }
    }

    private static func polygon(_ value: JSON) throws -> JSON {
        guard let coordinates = value["coordinates"], !coordinates.isNull else { throw invalid("Polygon") }
        guard var points = try coordinates.arrayValue?.map(normalized),
            points.allSatisfy({ point in
                guard case .array(let pair) = point, pair.count == 2 else { return false }
                return isCoordinate(pair[0], 90) && isCoordinate(pair[1], 180)
            }), Set(points).count >= 3, let first = points.first
        else { throw ParseError(.invalidJSON, "Polygon must have at least 3 different points.") }
        if points.last != first { points.append(first) }
        return ["__type": "Polygon", "coordinates": .array(points)]
    }

    private static func isCoordinate(_ value: JSON, _ limit: Double) -> Bool {
        value.doubleValue.map { $0.magnitude <= limit } ?? false
    }

    private static func isBase64(_ text: String) -> Bool {
        let bytes = text.utf8
        guard bytes.count % 4 == 0 else { return false }
        var padding = 0
        for byte in bytes {
            switch byte {
            case UInt8(ascii: "="): padding += 1
            case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "/"):
                if padding > 0 { return false }
            default: return false
            }
        }
        return padding <= 2
    }
}
