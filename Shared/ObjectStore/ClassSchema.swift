import ParseProtocol

extension ClassInfo {
    /// The fields as they are stored: type and options.
    var fieldsJSON: [String: JSON] {
        var result = fields.mapValues(\.json)
        for (name, options) in fieldOptions {
            if options.isRequired { result[name]?["required"] = true }
            if let value = options.defaultValue { result[name]?["defaultValue"] = value }
        }
        return result
    }

    /// The class in the protocol's schema format (PARSE_PROTOCOL section 7).
    var wireSchema: JSON {
        let standard: [String: JSON] = [
            "objectId": ["type": "String"], "createdAt": ["type": "Date"], "updatedAt": ["type": "Date"],
            "ACL": ["type": "ACL"],
        ]
        var indexes = edits.indexes.mapValues(\.json)
        indexes["_id_"] = ["_id": 1]
        return [
            "className": .string(name), "fields": .object(fieldsJSON.merging(standard) { $1 }),
            "classLevelPermissions": permissions.wire(areGiven: edits.hasPermissions), "indexes": .object(indexes),
        ]
    }
}

extension ObjectReader {
    /// A class in the protocol's schema format.
    /// - Throws: `ParseError` 103 when there is none of that name.
    public func schema(of className: String) throws -> JSON {
        try reading {
            guard let info = schema.classes[className] else { throw ClassSchemaError.missing(className) }
            return info.wireSchema
        }
    }

    /// Every class of this file, by name.
    public func schemas() throws -> [JSON] {
        try reading { schema.classes.values.sorted { $0.name < $1.name }.map(\.wireSchema) }
    }
}

/// The errors of the schemas API, in the words that SDKs' tests look for.
enum ClassSchemaError {
    static func missing(_ name: String) -> ParseError {
        ParseError(.invalidClassName, "Class \(name.prefix(128)) does not exist.")
    }
}
