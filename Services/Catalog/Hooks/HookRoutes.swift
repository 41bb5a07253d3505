import MessageBus
import Messages
import ServiceKit

/// The kinds about webhooks (Shared/Messages/Protos/hooks.proto).
func installHooks(_ routes: inout ServiceRoutes) {
    routes.read("catalog.hooks.v1", HooksRequest.self) { _, request, reader in
        try BusReply(HookDefinitions.all(in: reader))
    }
    routes.write("catalog.setHook.v1", HookChange.self) { message, request, transaction in
        try request.requireMaster()
        try HookDefinitions.apply(message, in: transaction)
        return try BusReply(Accepted())
    }
}
