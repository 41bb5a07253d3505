import MessageBus
import Messages
import ServiceKit

/// The kinds about webhooks and cloud code (Shared/Messages/Protos/hooks.proto).
func installHooks(_ routes: inout ServiceRoutes) {
    routes.read(HookCalls.list) { _, _, reader in
        var reply = try HookDefinitions.all(in: reader)
        reply.code = try CodeHooks.all(in: reader)
        return reply
    }
    routes.accept(HookCalls.set) { message, request, transaction in
        try request.requireMaster()
        try HookDefinitions.apply(message, in: transaction)
    }
    // The same whenever it is done, so that no answer is kept for a repetition.
    routes.write(framed: HookCalls.setCode, keyed: false) { message, request, transaction in
        try request.requireMaster()
        try CodeHooks.replace(by: message, in: transaction)
        return try BusReply(Accepted(), forget: .with { $0.hooks = true })
    }
}
