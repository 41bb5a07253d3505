import ParseProtocol

/// The canonical form of an object: equal for the old server's row and for Satchel's object when both mean the same.
///
/// Null and absent fields are one: Parse Server on PostgreSQL cannot tell them apart. No ACL is everyone's. A File is
/// its name, because its URL is the server's. Relations are rows of their own.
enum Canonical {
    /// - Parameter className: in Satchel.
    static func fields(_ row: [String: JSON], of className: String) -> [String: JSON] {
        let own = SuiteFields.own[className] ?? [:]
        var result: [String: JSON] = [:]
        for (name, value) in row {
            guard !name.hasPrefix("_"), name != "className", own[name] == nil, value.wireType != "Relation",
                !value.isNull
            else { continue }
            result[name] = self.value(value)
        }
        for name in ["createdAt", "updatedAt"] {
            let text = row[name]?.stringValue ?? row[name]?["iso"]?.stringValue
            if let time = text.flatMap({ Timestamp(iso: $0) }) { result[name] = .string(time.iso) }
        }
        if own["ACL"] == nil { result["ACL"] = acl(row["ACL"]) }
        complete(&result, of: className)
        return result
    }

    static func checksum(_ fields: [String: JSON]) -> UInt64 { RowLine.checksum(JSON.object(fields).serialized) }

    /// A value at any depth.
    static func value(_ value: JSON) -> JSON {
        switch value {
        case .int, .double: return value.doubleValue.map { JSON(number: $0) } ?? value
        case .array(let elements): return .array(elements.map(self.value))
        case .object(let members): return typed(value) ?? .object(members.mapValues(self.value))
        case .null, .bool, .string: return value
        }
    }

    /// A value with a `__type`; nil for any other.
    private static func typed(_ value: JSON) -> JSON? {
        switch value.wireType {
        case "Date": return value["iso"]?.stringValue.flatMap { Timestamp(iso: $0) }?.wire
        case "Pointer", "Object": return value.pointerTarget.map { JSON.pointer($0.className, $0.objectId) }
        case "File": return ["__type": "File", "name": value["name"] ?? .null]
        case "Polygon":
            guard var corners = value["coordinates"]?.arrayValue?.map(self.value) else { return nil }
            if let first = corners.first, corners.last != first { corners.append(first) }
            return ["__type": "Polygon", "coordinates": .array(corners)]
        default: return nil
        }
    }

    /// Only granted rights, and only of those who have any.
    static func acl(_ acl: JSON?) -> JSON {
        guard let entries = acl?.objectValue else { return ["*": ["read": true, "write": true]] }
        let granted = entries.compactMapValues { entry -> JSON? in
            let rights = (entry.objectValue ?? [:]).filter { $0.value == true }
            return rights.isEmpty ? nil : .object(rights)
        }
        return .object(granted)
    }

    /// The permissions of a class without parts that grant and protect nothing.
    static func permissions(_ permissions: JSON) -> JSON {
        .object(
            (permissions.objectValue ?? [:]).filter { $0.key != "ACL" }.compactMapValues { part -> JSON? in
                switch part {
                case .array(let names):
                    return names.isEmpty ? nil : .array(names.sorted { $0.serializedText < $1.serializedText })
                case .object(let members):
                    let kept = members.filter { $0.value != false && $0.value != [] }
                    return kept.isEmpty ? nil : .object(kept)
                default: return nil
                }
            })
    }

    private static func complete(_ fields: inout [String: JSON], of className: String) {
        switch className {
        case "_User":
            let links = (fields["authData"]?.objectValue ?? [:]).filter {
                SuiteFields.providers.contains($0.key) && !$0.value.isNull
            }
            // Satchel keeps only the ids of links, and encrypts those of anonymous users.
            let known = links.map { name, link -> (String, JSON) in
                (name, name == "anonymous" ? [:] : ["id": link["id"] ?? .null])
            }
            fields["authData"] = known.isEmpty ? nil : .object(Dictionary(known) { $1 })
        case "_Session":
            let origin = fields["createdWith"]?.objectValue ?? [:]
            let kept = origin.filter { ["action", "authProvider"].contains($0.key) }
            fields["createdWith"] = kept.isEmpty ? nil : .object(kept)
        case "_Installation":
            // Ids of devices count without case.
            for name in ["installationId", "deviceToken"] {
                guard let text = fields[name]?.stringValue, name == "installationId" || text.utf8.count == 64 else {
                    continue
                }
                fields[name] = .string(text.lowercased())
            }
        default: break
        }
    }
}
