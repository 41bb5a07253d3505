import MessageBus
import Messages
import ServiceKit

/// The message kinds for webhooks and cloud code (Shared/Messages/Protos/hooks.proto).
func installHooks(_ host: ServiceHost, _ routes: inout ServiceRoutes) {
    routes.read(HookCalls.list) { _, _, reader in
        var reply = try HookDefinitions.all(in: reader)
        reply.code = try CodeHooks.all(in: reader)
        return reply
    }
    routes.write(framed: HookCalls.set) { message, request, transaction in
        // A trigger receives whole objects regardless of their ACLs and can change what other users save.
        try request.requireMaster(or: message.hook.functionName.isEmpty ? .admins : .developers)
        let before = try HookDefinitions.shown(message.hook, in: transaction)
        try HookDefinitions.apply(message, in: transaction)
        let after = try HookDefinitions.shown(message.hook, in: transaction)
        let name = message.hook.functionName.isEmpty ? message.hook.triggerName : message.hook.functionName
        try host.audit.note(
            .init("hook", message.hook.className, name, before: before, after: after), by: request, in: transaction)
        return try BusReply(Accepted(), forget: .with { $0.hooks = true })
    }
    // Idempotent, so no answer is stored for retries.
    routes.write(framed: HookCalls.setCode, keyed: false) { message, request, transaction in
        try request.requireMaster()
        try CodeHooks.replace(by: message, in: transaction)
        return try BusReply(Accepted(), forget: .with { $0.hooks = true })
    }
}
