import ObjectStore
import ParseProtocol
import ServiceKit

/// The rules of `_Installation`: the fields that a client may write, and when a create updates an existing installation
/// (PARSE_PROTOCOL section 9).
package struct InstallationRules: ClassRules {
    package init() {}

    private static let idFields = ["installationId", "deviceToken", "deviceType"]

    package func prepare(_ change: inout ProposedChange) async throws {
        guard change.verb != .delete else { return }
        leaveOutEmptyIds(&change)
        try checkIdFields(change)
        try checkChannels(change.object["channels"])
        try checkUser(change)
        if change.verb == .create, change.object["installationId"] == nil, let own = change.caller.installationId {
            change.object["installationId"] = .string(own)
        }
        if let id = change.object["installationId"]?.stringValue {
            change.object["installationId"] = .string(id.lowercased())
        }
        // APNs tokens are 64 hexadecimal digits in either case; tokens of other services are case-sensitive.
        if let token = change.object["deviceToken"]?.stringValue, token.utf8.count == 64 {
            change.object["deviceToken"] = .string(token.lowercased())
        }
        if change.verb == .create { try checkRequired(change.object) }
    }

    /// A create for a known device updates its row.
    package func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome? {
        guard change.verb == .create, let known = try knownInstallation(change, in: transaction),
            let objectId = known["objectId"]?.stringValue
        else { return nil }
        try checkUnchanged(change, known)
        try releaseToken(change, keptBy: objectId, in: transaction)
        let updated = try transaction.update(
            "_Installation", objectId, change.object, keepsTimes: change.principal.maintenance, caller: change.caller)
        var answer = updated.answer
        answer["objectId"] = .string(objectId)
        answer["createdAt"] = updated.document["createdAt"]
        let outcome = ChangeOutcome(
            objectId: objectId, before: updated.before, after: updated.document, answer: answer)
        try Self.checkRoom(change, outcome, in: transaction)
        return outcome
    }

    package func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        switch change.verb {
        case .create:
            guard change.object["deviceType"] != nil else {
                throw ParseError(.missingRequiredField, "deviceType must be specified in this operation")
            }
            try transaction.quotas.take(of: .installations, by: change.caller)
            try releaseToken(change, keptBy: nil, in: transaction)
        case .update:
            let objectId = try change.requiredObjectId
            let stored = try transaction.documents(
                Query(className: "_Installation", where: ["objectId": .string(objectId)], limit: 1), caller: .master)
            guard let stored = stored.first else { return }
            try checkUnchanged(change, stored)
            try mergeOther(into: stored, change, in: transaction)
            // A caller without read permission on this row must not take the token from another one. If the caller has
            // no write permission, the update fails and undoes this change.
            if change.object["deviceToken"] != nil {
                _ = try transaction.get(
                    "_Installation", objectId, keys: ["objectId"], excludeKeys: [], caller: change.caller)
                try releaseToken(change, keptBy: objectId, in: transaction)
            }
        case .delete: break
        }
    }

    package func after(
        _ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction
    ) throws {
        try Self.checkRoom(change, outcome, in: transaction)
    }

    /// Limits the installations per user: a push to a user goes to each installation that names the user.
    private static func checkRoom(
        _ change: ProposedChange, _ outcome: ChangeOutcome, in transaction: StoreTransaction
    ) throws {
        guard let user = outcome.after?["user"], user.pointerTarget != nil, user != outcome.before?["user"] else {
            return
        }
        let count = try transaction.count(Query(className: "_Installation", where: ["user": user]), caller: .master)
        guard transaction.quotas.admits(count - 1, below: .userInstallationsMax, by: change.caller) else {
            throw ParseError(.validationError, "A user cannot have more installations.")
        }
    }

    // MARK: - Checks of the request

    /// SDKs send null or "" for ids that they do not know yet, and delete fields that a new row never had.
    private func leaveOutEmptyIds(_ change: inout ProposedChange) {
        for name in Self.idFields {
            switch change.object[name] {
            case .null?, .string("")?: change.object[name] = nil
            case let value? where change.verb == .create && name == "deviceToken" && value["__op"] == "Delete":
                change.object[name] = nil
            default: break
            }
        }
    }

    private func checkIdFields(_ change: ProposedChange) throws {
        for name in Self.idFields {
            guard let value = change.object[name] else { continue }
            if let text = value.stringValue {
                guard (1...512).contains(text.utf8.count) else {
                    throw ParseError(.validationError, "\(name) must have 1 to 512 characters.")
                }
            } else if change.verb == .update, name == "deviceToken", value["__op"] == "Delete" {
                continue
            } else {
                throw ParseError(.incorrectType, "\(name) must be a string.")
            }
        }
    }

    private func checkRequired(_ object: JSON) throws {
        guard object["installationId"] != nil || object["deviceToken"] != nil else {
            throw ParseError(
                .missingRequiredField,
                "at least one ID field (deviceToken, installationId) must be specified in this operation")
        }
    }

    private func checkChannels(_ value: JSON?) throws {
        guard let value else { return }
        let operations = value["__op"] == "Batch" ? value["ops"]?.arrayValue ?? [] : [value]
        for channel in operations.flatMap({ $0.arrayValue ?? $0["objects"]?.arrayValue ?? [] }) {
            guard let name = channel.stringValue, name.isEmpty || Names.isIdentifier(name) else {
                throw ParseError(
                    .invalidChannelName, "A channel name has letters, digits and _ and starts with a letter.")
            }
        }
    }

    /// An installation that named another user would receive that user's notifications.
    private func checkUser(_ change: ProposedChange) throws {
        guard let user = change.object["user"], !change.caller.isMaster, !user.isNull, user["__op"] != "Delete" else {
            return
        }
        guard let target = user.pointerTarget, target.className == "_User", target.objectId == change.caller.userId
        else {
            throw ParseError(.operationForbidden, "An installation can only belong to the signed-in user.")
        }
    }

    // MARK: - Checks against what is stored

    private func checkUnchanged(_ change: ProposedChange, _ stored: JSON) throws {
        for name in ["installationId", "deviceType"] {
            guard let new = change.object[name], let old = stored[name], new != old else { continue }
            throw ParseError(.changedImmutableField, "\(name) may not be changed in this operation")
        }
        // A device without an installation id is identified by its token alone.
        if change.object["installationId"] ?? stored["installationId"] == nil, let old = stored["deviceToken"],
            let new = change.object["deviceToken"], new != old
        {
            throw ParseError(.changedImmutableField, "deviceToken may not be changed in this operation")
        }
    }

    /// A row that was created for a token alone gets its device's installation id. If the device has another row, both
    /// belong to the same device: the row that the client continues to use stays, and the other is deleted
    /// (PARSE_PROTOCOL section 9).
    private func mergeOther(
        into stored: JSON, _ change: ProposedChange, in transaction: StoreTransaction
    ) throws {
        guard stored["installationId"] == nil, let id = change.object["installationId"],
            let objectId = stored["objectId"]?.stringValue
        else { return }
        // As with tokens: if the caller has no write permission on this row, the update fails and undoes this change.
        _ = try transaction.get(
            "_Installation", objectId, keys: ["objectId"], excludeKeys: [], caller: change.caller)
        let others = try transaction.documents(
            Query(className: "_Installation", where: ["installationId": id], limit: 1), caller: .master)
        guard let other = others.first, let otherId = other["objectId"]?.stringValue else { return }
        // A client that knows a device's installation id may change its row, unless the row's ACL forbids it.
        _ = try transaction.update("_Installation", otherId, [:], caller: change.caller)
        _ = try transaction.delete("_Installation", otherId, caller: .master)
    }

    private func knownInstallation(_ change: ProposedChange, in transaction: StoreTransaction) throws -> JSON? {
        func matches(_ field: String, _ value: JSON) throws -> [JSON] {
            try transaction.documents(
                Query(className: "_Installation", where: [field: value], limit: 2), caller: .master)
        }
        if let id = change.object["installationId"] {
            if let known = try matches("installationId", id).first { return known }
            // A device that was registered by its token alone now sends its installation id.
            guard let token = change.object["deviceToken"] else { return nil }
            let known = try matches("deviceToken", token)
            return known.count == 1 && known[0]["installationId"] == nil ? known[0] : nil
        }
        guard let token = change.object["deviceToken"] else { return nil }
        let known = try matches("deviceToken", token)
        guard known.count < 2 else {
            throw ParseError(
                .invalidInstallationId,
                "Must specify installationId when deviceToken matches multiple Installation objects")
        }
        return known.first
    }

    /// Within the app, a token belongs to the installation that registered it last; earlier ones were uninstalled. Apps
    /// with another identifier on the same server keep their token.
    private func releaseToken(
        _ change: ProposedChange, keptBy objectId: String?, in transaction: StoreTransaction
    ) throws {
        guard let token = change.object["deviceToken"]?.stringValue else { return }
        let holders = try transaction.documents(
            Query(className: "_Installation", where: ["deviceToken": .string(token)]), caller: .master)
        let app =
            try change.object["appIdentifier"]
            ?? objectId.flatMap { id in
                try transaction.documentIfFound("_Installation", id, caller: .master)?["appIdentifier"]
            }
        for holder in holders {
            guard let id = holder["objectId"]?.stringValue, id != objectId else { continue }
            if let app, let other = holder["appIdentifier"], app != other { continue }
            _ = try transaction.delete("_Installation", id, caller: .master)
        }
    }
}
