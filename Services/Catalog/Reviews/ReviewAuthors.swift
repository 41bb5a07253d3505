import MessageBus
import Messages
import ParseProtocol
import ServiceKit

/// The name that a review shows, `authorName`: the author's public name, and no other data of the user.
///
/// It is the name that the author sends with the review, or else the account's `displayName`, and is stored in the
/// review. When the account's name changes, reviews with the old name change too (`AuthorRenames`).
struct ReviewAuthors: Sendable {
    let bus: BusEndpoint

    private static let field = "authorName"
    /// Short: a review without a name is better than a slow one.
    private static let waitMax = Duration.seconds(3)

    /// Gives a client's new review the account's name when it has none. Runs before the transaction.
    func prepare(_ change: inout ProposedChange) async {
        guard change.verb == .create, change.object[Self.field] == nil, !change.caller.isMaster,
            !change.principal.anonymous, let userId = change.caller.userId,
            let name = await displayName(of: userId, as: change.principal, for: change.request)
        else { return }
        change.object[Self.field] = .string(name)
    }

    /// - Throws: `.incorrectType` (111) and `.validationError` (142) for a name that cannot be shown.
    static func check(_ object: inout JSON) throws(ParseError) {
        guard let sent = object[field], !sent.isNull, sent["__op"] != "Delete" else { return }
        guard let text = sent.stringValue else { throw ParseError(.incorrectType, "authorName must be a string.") }
        guard let name = PublicName(text) else {
            throw ParseError(
                .validationError, "authorName must be one line of 1 to \(PublicName.charactersMax) characters.")
        }
        object[field] = .string(name.text)
    }

    /// Nil when there is no name, when it cannot be shown, and when `users` does not answer.
    private func displayName(
        of userId: String, as principal: Principal, for origin: ServiceRequest?
    ) async -> String? {
        let wanted = FetchRequest.with {
            $0.wanted = [
                .with {
                    $0.className = "_User"; $0.objectIds = [userId]
                }
            ]
        }
        let call = ObjectCalls(of: "users").fetch
        guard var request = try? BusRequest(call, wanted, for: origin, timeout: Self.waitMax) else { return nil }
        request.principal = principal
        guard let reply = try? await bus.call(request), let user = reply.documents.first,
            let text = (try? JSON(parsing: user))?["displayName"]?.stringValue
        else { return nil }
        return PublicName(text)?.text
    }
}
