import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The rules of `Page`: company pages such as about, contact, privacy and terms. `content` is Markdown, which the
/// client renders. `name` is the page's unique address. An unpublished page is a draft that only its editors see.
struct PageRules: ClassRules {
    let prepares = false

    private static let nameBytesMax = 64

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        if change.verb == .delete { return }
        // `published` alone decides the readers of a page.
        change.object["ACL"] = nil
        if change.verb == .create, change.object["published"] == nil { change.object["published"] = true }
        guard let published = change.object["published"] else { return }
        guard let isPublished = published.boolValue else {
            throw ParseError(.validationError, "published must be true or false.")
        }
        change.object["ACL"] = Self.acl(isPublished: isPublished)
    }

    /// The shop's admins and the editors of the catalog write pages and see drafts.
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

    /// A name that needs no encoding in a URL, such as `privacy` or `return-policy`.
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
