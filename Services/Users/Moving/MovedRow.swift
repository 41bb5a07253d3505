import ParseProtocol
import ServiceKit

/// A row of `_User`, `_Session` or `_Role` from another server: in the form of REST answers and hosted Parse's export,
/// or as Parse Server stores it in PostgreSQL (`json_agg`) or MongoDB (`mongoexport --jsonArray`).
struct MovedRow {
    /// The fields in the form of REST; the stored form's own names begin with `_`. Nulls are left out: in PostgreSQL
    /// each missing field is one.
    private(set) var fields: [String: JSON] = [:]

    private static let times = ["_created_at": "createdAt", "_updated_at": "updatedAt"]

    /// - Throws: `.operationForbidden` (119) without the master key.
    init(_ change: ProposedChange) throws {
        guard change.caller.isMaster else {
            throw ParseError(.operationForbidden, "unauthorized: master key is required")
        }
        for (name, value) in change.object.objectValue ?? [:] where !value.isNull { take(name, value) }
        fields["className"] = nil
        fields["__type"] = nil
        fields["ACL"] = fields["ACL"] ?? acl
    }

    private mutating func take(_ name: String, _ value: JSON) {
        if name == "_id" {
            fields["objectId"] = value["$oid"] ?? value
        } else if name.hasPrefix("_p_"), let target = Self.pointer(value) {
            fields[String(name.dropFirst(3))] = target
        } else if name.hasPrefix("_auth_data_") {
            var links = fields["authData"] ?? [:]
            links[String(name.dropFirst("_auth_data_".count))] = value
            fields["authData"] = links
        } else if name == "authData" {
            // The stored form's members may have come first.
            let links = fields["authData"]?.objectValue ?? [:]
            fields["authData"] = .object(links.merging(value.objectValue ?? [:]) { $1 })
        } else if let field = Self.times[name] {
            fields[field] = (Self.time(value)?.iso).map(JSON.string) ?? value
        } else {
            fields[name] = value["$date"].flatMap { _ in Self.time(value)?.wire } ?? value
        }
    }

    /// Removes a field and returns it.
    mutating func remove(_ name: String) -> JSON? { fields.removeValue(forKey: name) }

    /// Removes a field that is a time and returns it.
    mutating func removeTime(_ name: String) -> Timestamp? { remove(name).flatMap(Self.time) }

    /// The fields without those of the stored form.
    var shown: [String: JSON] { fields.filter { !$0.key.hasPrefix("_") } }

    /// The id and the times.
    var identity: [String: JSON] { fields.filter { ["objectId", "createdAt", "updatedAt"].contains($0.key) } }

    /// The ACL of the stored form; nil if there is none.
    private var acl: JSON? {
        guard fields["_rperm"] != nil || fields["_wperm"] != nil else { return nil }
        var entries: [String: JSON] = [:]
        for (list, right) in [("_rperm", "read"), ("_wperm", "write")] {
            for principal in (fields[list]?.arrayValue ?? []).compactMap(\.stringValue) {
                entries[principal, default: [:]][right] = true
            }
        }
        return .object(entries)
    }

    /// A pointer in the form `Class$id`.
    private static func pointer(_ value: JSON) -> JSON? {
        let parts = (value.stringValue ?? "").split(separator: "$", maxSplits: 1)
        return parts.count == 2 ? JSON.pointer(String(parts[0]), String(parts[1])) : nil
    }

    /// A time as ISO 8601 text, also with a space in the middle, as a Date, or in MongoDB's extended JSON.
    static func time(_ value: JSON) -> Timestamp? {
        if let milliseconds = value["$date"]?["$numberLong"]?.stringValue.flatMap({ Int64($0) }) {
            return moment(milliseconds)
        }
        if let milliseconds = value["$date"]?.intValue { return moment(milliseconds) }
        let given = value.stringValue ?? value["iso"]?.stringValue ?? value["$date"]?.stringValue
        guard var text = given else { return nil }
        if let space = text.firstIndex(of: " ") { text.replaceSubrange(space...space, with: "T") }
        return Timestamp(iso: text)
    }

    /// Nil outside of the years 1 to 9999, so that no sum of times overflows.
    private static func moment(_ milliseconds: Int64) -> Timestamp? {
        guard (-62_135_596_800_000...253_402_300_799_999).contains(milliseconds) else { return nil }
        return Timestamp(milliseconds: milliseconds)
    }
}
