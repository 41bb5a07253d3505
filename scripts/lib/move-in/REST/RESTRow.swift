import ParseProtocol

/// Checks the objects of a query's answer.
enum RESTRow {
    struct Problem: Error, Equatable {
        var reason: String
    }

    static func row(_ object: JSON, of className: String, at place: SourcePlace) -> Result<MovedRow, Problem> {
        guard var fields = object.objectValue else { return .failure(Problem(reason: "It is no object.")) }
        guard let id = fields["objectId"]?.stringValue, !id.isEmpty,
            id.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F })
        else { return .failure(Problem(reason: "It has no objectId, or one with a control character.")) }
        for name in ["createdAt", "updatedAt"] {
            guard let value = fields[name], !value.isNull else { continue }
            guard let text = value.stringValue ?? value["iso"]?.stringValue, Timestamp(iso: text) != nil else {
                return .failure(Problem(reason: "Its \(name) is no time."))
            }
            fields[name] = .string(text)
        }
        // Rows of `_Join` have the relations.
        fields = fields.filter { $0.value.wireType != "Relation" }
        if className == "_Session", fields["sessionToken"]?.stringValue == nil {
            return .failure(Problem(reason: "The old server does not show its token: the user has to sign in again."))
        }
        let updatedAt = fields["updatedAt"]?.stringValue.flatMap { Timestamp(iso: $0) }?.milliseconds
        return .success(
            MovedRow(className: className, objectId: id, updatedAt: updatedAt, fields: fields, place: place))
    }
}
