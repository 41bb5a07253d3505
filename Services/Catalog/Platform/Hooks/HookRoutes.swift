import MessageBus
import Messages
import ServiceKit

/// The kinds about webhooks (Shared/Messages/Protos/hooks.proto).
func installHooks(_ routes: inout ServiceRoutes) {
    routes.read(HookCalls.list) { _, _, reader in try HookDefinitions.all(in: reader) }
    routes.accept(HookCalls.set) { message, request, transaction in
        try request.requireMaster()
        try HookDefinitions.apply(message, in: transaction)
    }
}
