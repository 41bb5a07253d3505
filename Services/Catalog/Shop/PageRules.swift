import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Company pages: about, contact, privacy, terms and whatever else the shop wants to say. `content` is Markdown; the
/// client renders it. `name` is the page's address and unique. An unpublished page is a draft that only its
/// editors see.
struct PageRules: ClassRules {
    let prepares = false

    private static let nameBytesMax = 64

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        if change.verb == .delete { return }
        // Who sees a page follows from `published` alone.
        change.object["ACL"] = nil
        if change.verb == .create, change.object["published"] == nil { change.object["published"] = true }
        guard let published = change.object["published"] else { return }
        guard let isPublished = published.boolValue else {
            throw ParseError(.validationError, "published must be true or false.")
        }
        change.object["ACL"] = Self.acl(isPublished: isPublished)
    }

    /// The shop's admins and the editors of the catalog write pages, and see drafts.
    static func acl(isPublished: Bool) -> JSON {
        var acl: [String: JSON] = [:]
        for role in [adminsRole, OperatorArea.catalog.role] { acl["role:\(role)"] = ["read": true, "write": true] }
        if isPublished { acl["*"] = ["read": true] }
        return .object(acl)
    }

    func after(_ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction) throws {
        guard let page = outcome.after else { return }
        guard let name = page["name"]?.stringValue, Self.isName(name) else {
            throw ParseError(
                .validationError,
                "A page needs a name of 1 to \(Self.nameBytesMax) small letters, digits and single dashes between them."
            )
        }
        guard page["title"]?.stringValue?.contains(where: { !$0.isWhitespace }) == true else {
            throw ParseError(.validationError, "A page needs a title.")
        }
        guard try transaction.count(Query(className: "Page", where: ["name": .string(name)]), caller: .master) == 1
        else {
            throw ParseError(.duplicateValue, "There is a page named \(name) already.")
        }
    }

    /// `privacy`, `return-policy`: what can stand in a URL as it is.
    static func isName(_ name: String) -> Bool {
        guard (1...nameBytesMax).contains(name.utf8.count) else { return false }
        let words = name.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return words.allSatisfy { word in
            !word.isEmpty
                && word.allSatisfy {
                    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains($0)
                        || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0)
                }
        }
    }
}
