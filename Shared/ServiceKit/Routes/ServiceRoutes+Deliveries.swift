import Foundation
import MessageBus
import Messages
import ParseProtocol
import ProcessKit
import SwiftProtobuf

extension ServiceRoutes {
    /// Installs the route for a parcel of outbox messages. Each message goes to its own route, in order, so that the
    /// writes among them join the same commit or the next one. Each is stored, refused or recognised as a repetition
    /// independently.
    mutating func installDeliveries() {
        let kind = DeliveryCalls(to: host.plan.name).deliver.kind
        routes[kind] = .parts { request in
            let messages = try DeliverRequest(serializedBytes: request.body).messages
            guard (1...OutboxParcels.messagesMax).contains(messages.count), messages.allSatisfy({ $0.kind != kind })
            else { throw ParseError(.invalidJSON, "The body of \(kind) could not be read.") }
            return request.taken(
                apart: messages.map {
                    ServiceRequest.Part(
                        kind: $0.kind, idempotencyKey: $0.key, body: Array($0.body), traceParent: $0.traceParent)
                }, join: Self.joined)
        }
    }

    @Sendable private static func joined(
        _ replies: [Result<BusReply, BusFailure>]
    ) -> Result<BusReply, BusFailure> {
        let outcomes = DeliverReply.with { reply in
            reply.outcomes = replies.map { result in
                .with { if case .failure(let failure) = result { $0.failure = failure.failure } }
            }
        }
        let forgets = replies.compactMap { try? $0.get().forget }
        let forget = forgets.dropFirst().reduce(forgets.first) { $0?.merging($1) }
        return Result { try BusReply(outcomes, forget: forget) }
            .mapError { _ in BusFailure(.internalError) }
    }
}
