import ObjectStore
import ParseProtocol
import ServiceKit

/// Rules for `Address` objects that apps save: private to the owner, bounded text fields, one default.
struct AddressRules: ClassRules {
    func prepare(_ change: inout ProposedChange) async throws {
        guard !CardNumber.isPresent(in: change.object) else { throw CardNumber.refused }
    }

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        switch change.verb {
        case .create:
            change.defaultACL(from: "owner", acl: JSON.privateACL)
            try change.claim("owner", acl: JSON.privateACL)
            guard !change.caller.isMaster, let owner = change.caller.userId else { return }
            change.object = try Self.fields(change.object)
            change.object["owner"] = .pointer("_User", owner)
            change.object["ACL"] = .privateACL(owner)
            let others = try AddressBook.all(of: owner, in: transaction)
            guard others.count < AddressBook.perCustomerMax else {
                throw ParseError(
                    .validationError, "At most \(AddressBook.perCustomerMax) addresses can be stored.")
            }
            if others.isEmpty { change.object["default"] = true }
        case .update where !change.caller.isMaster:
            let present = try transaction.document(change.className, try change.requiredObjectId, caller: change.caller)
            if let owner = change.object["owner"],
                owner.pointerTarget?.objectId != present["owner"]?.pointerTarget?.objectId
            {
                throw ParseError(.operationForbidden, "The owner of an Address cannot be changed.")
            }
            change.object = try Self.fields(change.object)
            guard change.object["default"] != false || present["default"] != true else {
                throw ParseError(.validationError, "Make another address the default instead.")
            }
        case .update, .delete: break
        }
    }

    func after(_ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction) throws {
        guard let owner = (outcome.after ?? outcome.before)?["owner"]?.pointerTarget?.objectId else {
            guard change.verb == .delete else { throw ParseError(.validationError, "An address needs its owner.") }
            return
        }
        switch change.verb {
        case .create, .update:
            guard outcome.after?["default"] == true else { return }
            try AddressBook.makeDefault(outcome.objectId, owner: owner, in: transaction)
            outcome.answer["default"] = true
        case .delete:
            guard outcome.before?["default"] == true,
                let next = try AddressBook.all(of: owner, in: transaction).first?["objectId"]?.stringValue
            else { return }
            try AddressBook.makeDefault(next, owner: owner, in: transaction)
        }
    }

    private static let bytesMax = 200

    /// The fields that a client may write, in stored form.
    /// - Throws: `.incorrectType` (111) and `.validationError` (142) for invalid values, `.operationForbidden` (119)
    ///   for fields that an address does not have.
    private static func fields(_ object: JSON) throws -> JSON {
        var fields: JSON = [:]
        for (name, value) in object.objectValue ?? [:] {
            switch name {
            case _ where AddressBook.texts.contains(name):
                let removes = value.isNull || value["__op"] == "Delete"
                fields[name] =
                    removes
                    ? ["__op": "Delete"]
                    : .string(
                        try PlainText.parse(
                            value.intValue.map { .string(String($0)) } ?? value, name, bytesMax: bytesMax, isLine: true)
                    )
            case "default":
                guard value.boolValue != nil else { throw ParseError(.incorrectType, "default must be true or false.") }
                fields[name] = value
            case "owner", "ACL", "objectId", "createdAt", "updatedAt", "className", "__type": continue
            default:
                throw ParseError(
                    .operationForbidden, "Permission denied for action addField on class Address: \(name).")
            }
        }
        return fields
    }
}
