import ParseProtocol

extension StoreTransaction {
    /// Creates an object.
    /// - Parameters:
    ///   - object: fields and operators as in a client's request.
    ///   - objectId: an id chosen by the service (with the master's rights) or, where that is allowed, by the client.
    ///   - proposedId: the id to use when none is chosen; the gateway makes it in the form of `Names.objectId()`.
    ///   - isImported: the object comes from an operator's file: the id may be chosen, and `createdAt` and `updatedAt`
    ///     are kept.
    ///   - keepsTimes: keep `createdAt` and `updatedAt`.
    /// - Throws: `.operationForbidden` (119) for missing permissions, `.invalidKeyName` (105) and `.invalidNestedKey`
    ///   (121) for invalid names, `.invalidJSON` (107) and `.incorrectType` (111) for invalid values or types,
    ///   `.objectTooLarge` (116) for an object that is too large, `.invalidACL` (123) for an invalid ACL,
    ///   `.duplicateValue` (137) for a unique value or an id that is taken.
    public func create(
        _ className: String, _ object: JSON, objectId: String? = nil, proposedId: String? = nil,
        isImported: Bool = false, keepsTimes: Bool = false, caller: Caller
    ) throws -> Created {
        guard case .object(let fields) = object else {
            throw ParseError(.invalidJSON, "An object to save must be a JSON object.")
        }
        let info = try classForCreating(className, caller)
        _ = try info.permissions.decide(.create, caller, className: className)
        let id = try newObjectId(objectId, fields, caller, isImported) ?? proposedId ?? Names.objectId()
        let keepsTimes = isImported || keepsTimes
        let given = try keepsTimes ? Self.moment(fields["createdAt"]) : nil
        let createdAt = given ?? now
        // As in Parse Server, a create with the maintenance key keeps `updatedAt` only if it has `createdAt`.
        let updatedAt = try isImported || given != nil ? Self.moment(fields["updatedAt"]) ?? createdAt : now
        if !isImported { try Self.checkOrder(createdAt, updatedAt) }
        // With room for the id, both times and an ACL.
        var draft = try ObjectDraft(
            info: info, document: Dictionary(minimumCapacity: fields.count + 4), isNew: true, caller: caller)
        try draft.apply(fields)
        if !isImported { try draft.applyDefaultACL() }
        try checkNewFields(draft, caller)
        draft.document["objectId"] = .string(id)
        let createdAtText = JSON.string(createdAt == now ? nowISO : createdAt.iso)
        draft.document["createdAt"] = createdAtText
        draft.document["updatedAt"] = updatedAt == createdAt ? createdAtText : .string(updatedAt.iso)
        let text = try draft.serialized()
        try saveNewFields(draft.newFields, of: draft.info)
        noteChange(of: info, id)

        let creation = try creation(of: draft.info)
        let unanswered = isOutright && draft.access.principals.isEmpty ? creation.unanswered : nil
        let statement = unanswered ?? creation.insert
        try statement.bind(id, at: 1)
        try statement.bind(createdAt.milliseconds, at: 2)
        try statement.bind(updatedAt.milliseconds, at: 3)
        try statement.bind(SQLValue.int(draft.access.publicRead ? 1 : 0), at: 4)
        try statement.bind(SQLValue.int(draft.access.publicWrite ? 1 : 0), at: 5)
        try statement.bind(utf8: text, at: 6)
        let document = JSON.object(draft.document)
        if let unanswered {
            try postpone(unanswered)
        } else {
            let row = try reportingRefusals(of: draft) { try statement.insert() }
            try saveAccess(draft.access, row: row, info)
            if !creation.isPlain {
                try TextIndex.update(draft.info, row: row, from: nil, to: document, connection)
                try GeoIndex.update(draft.info, row: row, from: nil, to: document, connection)
                try saveRelations(draft.relationChanges, owner: id, info, caller)
            }
        }
        try noteWatched(draft.info, id, before: nil, after: StoredImage(fields: draft.document, text: text))
        var answer: [String: JSON] = ["objectId": .string(id), "createdAt": createdAtText]
        let hidden = draft.defaulted.isEmpty ? [] : info.permissions.hiddenFields(from: caller)
        for field in draft.defaulted where !hidden.contains(field) { answer[field] = draft.document[field] }
        return Created(objectId: id, createdAt: createdAt, document: document, answer: .object(answer))
    }

    /// Changes an object.
    /// - Parameters:
    ///   - changes: fields, operators and dotted fields as in a client's request.
    ///   - keepsTimes: use `createdAt` and `updatedAt` from `changes` if present.
    /// - Throws: `ParseError.objectNotFound` for an object that is missing or that the caller may not change, else as
    ///   `create`.
    public func update(
        _ className: String, _ objectId: String, _ changes: JSON, keepsTimes: Bool = false, caller: Caller
    ) throws -> Updated {
        guard case .object(let fields) = changes else {
            throw ParseError(.invalidJSON, "An object to save must be a JSON object.")
        }
        var change = try changed(className, objectId, fields, caller)
        let info = change.info
        let createdAt = try keepsTimes ? Self.moment(fields["createdAt"]) : nil
        let updatedAt = try keepsTimes ? Self.moment(fields["updatedAt"]) ?? now : now
        if let createdAt { try Self.checkOrder(createdAt, updatedAt) }
        if let createdAt { change.draft.document["createdAt"] = .string(createdAt.iso) }
        change.draft.document["updatedAt"] = .string(updatedAt == now ? nowISO : updatedAt.iso)
        let draft = change.draft
        let text = try draft.serialized()
        try saveNewFields(draft.newFields, of: draft.info)
        noteChange(of: info, objectId)

        // A single statement, which succeeds completely or changes nothing (`changesAtOnce`).
        let statement =
            try createdAt == nil
            ? creation(of: draft.info).update
            : connection.statement(Creation.updating(info, dialect, setsCreatedAt: true))
        try statement.bind(updatedAt.milliseconds, at: 1)
        try statement.bind(SQLValue.int(draft.access.publicRead ? 1 : 0), at: 2)
        try statement.bind(SQLValue.int(draft.access.publicWrite ? 1 : 0), at: 3)
        try statement.bind(utf8: text, at: 4)
        try statement.bind(change.row, at: 5)
        if let createdAt { try statement.bind(createdAt.milliseconds, at: 6) }
        try reportingRefusals(of: draft) {
            _ = try statement.step()
            statement.reset()
        }
        let before = JSON.object(change.stored)
        let document = JSON.object(draft.document)
        if draft.access != change.accessBefore {
            try connection.execute("DELETE FROM p\(info.id) WHERE object = ?", [.int(change.row)])
            try saveAccess(draft.access, row: change.row, info)
        }
        try TextIndex.update(draft.info, row: change.row, from: before, to: document, connection)
        try GeoIndex.update(draft.info, row: change.row, from: before, to: document, connection)
        try saveRelations(draft.relationChanges, owner: objectId, info, caller)
        try noteWatched(
            draft.info, objectId, before: StoredImage(fields: change.stored, text: change.storedText),
            after: StoredImage(fields: draft.document, text: text))
        return Updated(before: before, document: document, answer: answer(to: draft, objectId, caller))
    }

    /// Runs all checks that `update` runs before its first change. Changes nothing.
    ///
    /// Unique indexes of the service's own definition are not checked.
    /// - Returns: false when only the change itself shows whether it succeeds: it would add a field, the class has
    ///   indexes that the store maintains, or an operator's index requires unique values.
    /// - Throws: as `update`.
    public func provesUpdate(
        _ className: String, _ objectId: String, _ changes: JSON, caller: Caller
    ) throws -> Bool {
        guard case .object(let fields) = changes, changesAtOnce(className, changes),
            schema.classes[className]?.edits.indexes.values.contains(where: \.isUnique) == false
        else { return false }
        var change = try changed(className, objectId, fields, caller)
        change.draft.document["updatedAt"] = .string(nowISO)
        _ = try change.draft.serialized()
        return true
    }

    /// Removes an object, its ACL rows and the relations that it owns.
    /// - Returns: the object before the removal. The master key can also remove an object that cannot be decoded; the
    ///   result is then its id and its text fields.
    /// - Throws: `ParseError.objectNotFound` for an object that is missing or that the caller may not change.
    @discardableResult
    public func delete(_ className: String, _ objectId: String, caller: Caller) throws -> JSON {
        let (info, row, stored) = try objectForDeleting(className, objectId, caller)
        let document = JSON.object(stored)
        noteChange(of: info, objectId)
        try connection.execute("DELETE FROM o\(info.id) WHERE id = ?", [.int(row)])
        try connection.execute("DELETE FROM p\(info.id) WHERE object = ?", [.int(row)])
        // One statement per field, because the table's key begins with it; otherwise all relations of the class would
        // be scanned.
        for key in info.relationMembers.names {
            try connection.execute(
                "DELETE FROM relations WHERE class = ? AND key = ? AND owner = ?",
                [.int(info.id), .text(key), .text(objectId)])
        }
        try TextIndex.update(info, row: row, from: document, to: nil, connection)
        try GeoIndex.remove(info, row: row, connection)
        try noteWatched(
            info, objectId, before: StoredImage(fields: stored, text: document.serialized), after: nil)
        return document
    }

    /// Whether the object exists, regardless of its ACL.
    public func exists(_ className: String, _ objectId: String) throws -> Bool {
        guard let info = schema.classes[className] else { return false }
        return try !rows("SELECT 1 FROM o\(info.id) WHERE objectId = ?", [.text(objectId)]).isEmpty
    }

    // MARK: Moving in

    /// When the objects with these ids were last changed, in milliseconds since 1970.
    package func updateTimes(_ className: String, of ids: [String]) throws -> [String: Int64] {
        guard let info = schema.classes[className] else { return [:] }
        let listed = dialect.isIn("?", as: .text)
        let found = try rows(
            "SELECT objectId, updatedAt FROM o\(info.id) WHERE objectId\(listed)",
            [.text(JSON.array(ids.map(JSON.string)).serializedText)])
        return try Dictionary(found.map { (try $0.text(0), try $0.int(1)) }) { _, last in last }
    }

    /// Adds members to a relation of an object, which keeps its `updatedAt`. Live queries are not told.
    /// - Throws: `.incorrectType` (111) unless the field is a relation, `.objectNotFound` (101) without the object;
    ///   both before the first change.
    package func relate(_ className: String, _ objectId: String, _ field: String, to ids: [String]) throws {
        guard let info = schema.classes[className], case .relation? = info.fields[field] else {
            throw ParseError(.incorrectType, "\(className) has no relation \(field).")
        }
        guard try exists(className, objectId) else {
            throw ParseError(.objectNotFound, "The object \(objectId) is missing in \(className).")
        }
        noteChange(of: info, objectId)
        try saveRelations(
            [ObjectDraft.RelationChange(key: field, added: ids, removed: [])], owner: objectId, info, .master)
    }

    // MARK: Checks

    /// A time in an import or request, as a text or as a Date.
    private static func moment(_ value: JSON?) throws -> Timestamp? {
        guard let value, !value.isNull else { return nil }
        guard let iso = value.stringValue ?? value["iso"]?.stringValue, let moment = Timestamp(iso: iso) else {
            throw ParseError(.incorrectType, "createdAt and updatedAt must be ISO 8601 times.")
        }
        return moment
    }

    /// - Throws: `.validationError` (142) when `updatedAt` is before `createdAt`.
    private static func checkOrder(_ createdAt: Timestamp, _ updatedAt: Timestamp) throws {
        guard updatedAt >= createdAt else {
            throw ParseError(.validationError, "updatedAt cannot occur before createdAt.")
        }
    }

    private func newObjectId(
        _ given: String?, _ fields: [String: JSON], _ caller: Caller, _ isImported: Bool
    ) throws -> String? {
        if fields["objectId"] != nil, !allowCustomObjectId, !isImported {
            throw ParseError(.invalidKeyName, "objectId is an invalid field name.")
        }
        if given != nil, !caller.isMaster, !allowCustomObjectId, !isImported {
            throw ParseError(.invalidKeyName, "objectId is an invalid field name.")
        }
        guard let wanted = given.map(JSON.string) ?? fields["objectId"] else { return nil }
        guard case .string(let id) = wanted, Names.isObjectId(id) else {
            throw ParseError(.missingObjectId, "objectId must be 1 to 64 letters, digits, _ or -.")
        }
        return id
    }

    private func checkNewFields(_ draft: ObjectDraft, _ caller: Caller) throws {
        guard !draft.newFields.isEmpty else { return }
        let denied = ParseError(
            .operationForbidden, "Permission denied for action addField on class \(draft.info.name).")
        switch try draft.info.permissions.decide(.addField, caller, className: draft.info.name) {
        case .allowed: break
        case .whereUserIs(let fields):
            // A new object cannot name the caller yet. For a stored object, a caller that is not named must not learn
            // that it exists.
            guard !draft.isNew else { throw denied }
            guard ObjectDraft.namesCaller(caller, in: draft.document, fields) else { throw ParseError.objectNotFound }
        }
        let added = draft.addedFields(definition: definitions[draft.info.name])
        try allowance.addFields(added, by: caller)
    }

    private func objectForDeleting(
        _ className: String, _ objectId: String, _ caller: Caller
    ) throws -> (ClassInfo, row: Int64, document: [String: JSON]) {
        let (info, row, text) = try textForWriting(.delete, className, objectId, caller)
        do {
            guard case .object(let document) = try JSON(parsing: text) else { throw ParseError.internalError }
            return (info, row, document)
        } catch {
            guard caller.isMaster else { throw error }
            var document: [String: JSON] = ["objectId": .string(objectId)]
            // The text index needs the old texts to remove them. SQLite parses deeper nesting than `JSON` does.
            for field in info.textFields {
                let value = try connection.dialect.value(FieldPath(field), as: .text, in: "doc")
                let rows = try? connection.rows("SELECT \(value) FROM o\(info.id) WHERE id = ?", [.int(row)])
                document[field] = try rows?.first?[0].textValue.map(JSON.string)
            }
            return (info, row, document)
        }
    }

    /// A stored object, and a draft with a permitted change applied.
    private struct ChangedObject {
        /// The class before the change.
        let info: ClassInfo
        let row: Int64
        let stored: [String: JSON]
        let storedText: [UInt8]
        let accessBefore: AccessControl
        var draft: ObjectDraft
    }

    private func changed(
        _ className: String, _ objectId: String, _ changes: [String: JSON], _ caller: Caller
    ) throws -> ChangedObject {
        let (info, row, text) = try textForWriting(.update, className, objectId, caller)
        guard case .object(let stored) = try JSON(parsing: text) else { throw ParseError.internalError }
        let draft = try ObjectDraft(info: info, document: stored, isNew: false, caller: caller)
        var change = ChangedObject(
            info: info, row: row, stored: stored, storedText: text, accessBefore: draft.access, draft: draft)
        try change.draft.apply(changes)
        try checkNewFields(change.draft, caller)
        return change
    }

    // MARK: Responses

    /// The response to a client's update, without fields that the caller may not read.
    private func answer(to draft: ObjectDraft, _ objectId: String, _ caller: Caller) -> JSON {
        var answer: [String: JSON] = ["updatedAt": draft.document["updatedAt"] ?? .string(nowISO)]
        guard !draft.echoed.isEmpty, mayRead(draft, caller) else { return .object(answer) }
        let isOwnUser = draft.info.name == "_User" && caller.userId == objectId
        let hidden = isOwnUser ? [] : draft.info.unshownFields(to: caller)
        for field in draft.echoed where !hidden.contains(field) { answer[field] = draft.document[field] }
        return .object(answer)
    }

    private func mayRead(_ draft: ObjectDraft, _ caller: Caller) -> Bool {
        guard draft.access.allowsReading(caller) else { return false }
        switch try? draft.info.permissions.decide(.get, caller, className: draft.info.name) {
        case .allowed: return true
        case .whereUserIs(let fields): return ObjectDraft.namesCaller(caller, in: draft.document, fields)
        case nil: return false
        }
    }

    // MARK: Rows

    private func reportingRefusals<T>(of draft: ObjectDraft, _ change: () throws -> T) throws -> T {
        do {
            return try change()
        } catch let error as StoreError where error.isUniqueViolation {
            throw ParseError(
                .duplicateValue, "A duplicate value for a field with unique values was provided")
        } catch let error as StoreError where error.isTooLongForIndex {
            // An automatic index must not prevent a save.
            let overgrown = draft.info.automatic.filter { $0.isOvergrown(by: draft.document) }
            if let shapes, !overgrown.isEmpty {
                shapes.noteOvergrown(Set(overgrown.map(\.id)))
                throw ParseError(.serviceUnavailable, "An index that rejects the value is being removed. Try again.")
            }
            throw ParseError(
                .objectTooLarge, "A field with an index may have at most about 2,700 bytes in PostgreSQL.")
        }
    }

    private func saveAccess(_ access: AccessControl, row: Int64, _ info: ClassInfo) throws {
        for (principal, rights) in access.principals {
            try connection.execute(
                "INSERT INTO p\(info.id)(principal, object, canRead, canWrite) VALUES(?, ?, ?, ?)",
                [.text(principal), .int(row), .int(rights.read ? 1 : 0), .int(rights.write ? 1 : 0)])
        }
    }

    /// - Throws: `.objectTooLarge` (116) when a client's request names more objects than one job may.
    private func saveRelations(
        _ changes: [ObjectDraft.RelationChange], owner: String, _ info: ClassInfo, _ caller: Caller
    ) throws {
        for change in changes {
            try countRelated(change.added.count + change.removed.count, by: caller)
            func arguments(_ ids: [String]) -> [SQLValue] {
                [.text(change.key), .text(owner), .text(JSON.array(ids.map(JSON.string)).serializedText)]
            }
            if !change.removed.isEmpty {
                let listed = dialect.isIn("?", as: .text)
                try connection.execute(
                    "DELETE FROM relations WHERE class = \(info.id) AND key = ? AND owner = ? AND target\(listed)",
                    arguments(change.removed))
            }
            if !change.added.isEmpty {
                let ids = dialect == .sqlite ? "value FROM json_each(?)" : "jsonb_array_elements_text(?::jsonb)"
                try connection.execute(
                    """
                    INSERT INTO relations(class, key, owner, target) \
                    SELECT \(info.id), CAST(? AS text), CAST(? AS text), \(ids) WHERE TRUE ON CONFLICT DO NOTHING
                    """, arguments(change.added))
            }
        }
    }
}
