import Messages
import ParseProtocol

/// The stages of a batch's requests: mount, admission and route. Keys and session were checked with the batch's.
extension ParseRouter {
    /// The refusal of a batch's request that is not even tried; nil when it is.
    func refusal(inBatch request: ParseRequest, _ principal: Principal) -> ParseResponse? {
        guard let path = mount.stripped(from: request.path) else { return ParseResponse(Self.noRoute) }
        // Limits on clients are none on the code that works for them.
        guard request.codeDepth == 0 else { return nil }
        var request = request
        request.path = path
        return admission.refusal(inBatch: request, principal)
    }

    /// Answers a request of a batch that `refusal(inBatch:)` lets pass.
    func answer(inBatch request: ParseRequest, _ principal: Principal) async -> ParseResponse {
        var request = request
        request.path = mount.stripped(from: request.path) ?? []
        return await runAdmitted(request, RouteTable.mounted.route(request.method, request.path), principal)
    }
}
