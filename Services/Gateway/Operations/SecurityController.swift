import Foundation
import MessageBus
import Messages
import NIOCore
import ParseProtocol

/// `/security`: reports weaknesses in the current settings and classes that an operator should fix before opening the
/// shop.
struct SecurityController: Sendable {
    let configuration: GatewayConfiguration
    let settings: CloudSettings
    let services: ServiceClient
    let broker: Broker
    let registry: HookRegistry

    func report(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        var report = SecurityReport()
        let sold = try await purchases(request)
        report.groups = [
            ("Keys", keys), ("Transport", transport), ("Classes", try await classes(request)),
            ("Files", files + sold), ("Quotas", quotas),
            ("Webhooks", webhooks(try await registry.table(in: request.call))),
        ]
        return ParseResponse(report.json)
    }

    private var keys: [SecurityReport.Check] {
        let key = configuration.masterKey
        let anywhere = [
            try? SocketAddress(ipAddress: "192.0.2.1", port: 0), try? SocketAddress(ipAddress: "2001:db8::1", port: 0),
        ]
        // These addresses belong to no host and stand for all others.
        let isOpen = configuration.masterKeyNetworks.contains { network in anywhere.contains { network.contains($0) } }
        return [
            .init(
                "Master key is long enough", isFine: key.utf8.count >= 20 && Set(key).count >= 8,
                "The master key can be guessed.", "Set SATCHEL_MASTER_KEY to a random text of 20 characters or more."),
            .init(
                "Master key is taken from known networks", isFine: !isOpen,
                "The master key is accepted from everywhere.",
                "Name the networks of your operators in SATCHEL_MASTER_KEY_IPS."),
            .init(
                "Master key is not a client key", isFine: !configuration.clientKeys.values.contains(key),
                "Apps hold the master key.", "Choose other client keys."),
        ]
    }

    private var transport: [SecurityReport.Check] {
        let url = URL(string: configuration.publicURL)
        let isLocal = ["127.0.0.1", "localhost", "::1"].contains(url?.host ?? "")
        return [
            .init(
                "Public address is encrypted", isFine: url?.scheme == "https" || isLocal,
                "Passwords and sessions travel in the clear.",
                "Put a proxy with TLS before the gateway and set SATCHEL_PUBLIC_URL to its https address.")
        ]
    }

    private var files: [SecurityReport.Check] {
        [
            .init(
                "File upload needs a user",
                isFine: configuration.fileUpload == .authenticated || configuration.fileUpload == .master,
                "People without an account can fill the disk.", "Set SATCHEL_FILE_UPLOAD to authenticated.")
        ]
    }

    /// A shop without in-app purchases needs no setting.
    private func purchases(_ request: ParseRequest) async throws(ParseError) -> [SecurityReport.Check] {
        let message = FindRequest.with {
            $0.className = "_Product"
            $0.limit = 1
        }
        let reply = try await services.read(
            ServiceDirectory.calls(ofClass: message.className).find, message, for: .ofHooks, in: request.call)
        let sells = try JSON(reply: reply.document, in: request.call)["results"]?.arrayValue?.isEmpty == false
        return [
            .init(
                "Purchases are of the shop's apps (SATCHEL_APPLE_BUNDLE_IDS)",
                isFine: !settings.bundleIds.isEmpty || !sells,
                "There are products to buy within an app, and none is unlocked.",
                "Name the bundle ids of your apps in SATCHEL_APPLE_BUNDLE_IDS."),
            .init(
                "Receipts of Apple's sandbox unlock nothing (SATCHEL_APPLE_SANDBOX_RECEIPTS)",
                isFine: !settings.takesSandboxReceipts,
                "Receipts that nobody paid for unlock paid files.",
                "Take SATCHEL_APPLE_SANDBOX_RECEIPTS away when your tests and Apple's review are over."),
        ]
    }

    private var quotas: [SecurityReport.Check] {
        let alarms = broker.services.filter { $0.value.warning.contains("SATCHEL_QUOTAS") }.keys
        return [
            .init(
                "Clients stay below the global quotas", isFine: alarms.isEmpty,
                "Strangers have used most of what all clients together may add to: \(Self.names(Array(alarms))).",
                "Find out who adds so much. If it is your customers, raise the rates per global in SATCHEL_QUOTAS.")
        ]
    }

    private func webhooks(_ table: HookTable) -> [SecurityReport.Check] {
        let unencrypted = table.hooks.filter { hook in
            guard let url = URL(string: hook.url), url.scheme == "http" else { return false }
            return !["127.0.0.1", "localhost", "::1"].contains(url.host ?? "")
        }
        return [
            .init(
                "Webhooks can tell who calls", isFine: table.hooks.isEmpty || settings.webhookKey != nil,
                "Anybody can call the webhooks as if it were this suite.",
                "Set SATCHEL_WEBHOOK_KEY and compare X-Parse-Webhook-Key with it in the webhooks."),
            .init(
                "Webhooks are called encrypted", isFine: unencrypted.isEmpty,
                "Objects travel in the clear to: \(Self.names(unencrypted.map { $0.functionName + $0.className })).",
                "Use https addresses."),
        ]
    }

    private func classes(_ request: ParseRequest) async throws(ParseError) -> [SecurityReport.Check] {
        var schemas: [JSON] = []
        for service in ServiceDirectory.objectServices {
            let reply = try await services.read(
                ObjectCalls(of: service).schemas, SchemasRequest(), for: .ofHooks, in: request.call)
            schemas += try JSON(reply: reply.document, in: request.call).arrayValue ?? []
        }
        func open(_ actions: [String], _ isWanted: (String) -> Bool) -> [String] {
            schemas.compactMap { schema -> String? in
                guard let name = schema["className"]?.stringValue, isWanted(name) else { return nil }
                let permissions = schema["classLevelPermissions"]
                return actions.contains { permissions?[$0]?["*"] == true } ? name : nil
            }
        }
        let writable = open(["create", "update", "delete"]) { !$0.hasPrefix("_") }
        let growing = open(["addField"]) { _ in true }
        return [
            .init(
                "Clients cannot create classes", isFine: !settings.allowsClientClassCreation,
                "Every client can create classes.", "Set SATCHEL_CLIENT_SCHEMA to closed in production."),
            .init(
                "Clients cannot add fields", isFine: settings.isSchemaClosed || growing.isEmpty,
                "Everybody can add fields to: \(Self.names(growing)).",
                "Set SATCHEL_CLIENT_SCHEMA to closed in production."),
            .init(
                "Classes are not written by everybody", isFine: writable.isEmpty,
                "Everybody may create, change or delete objects of: \(Self.names(writable)).",
                "Restrict create, update and delete in the class-level permissions of these classes."),
        ]
    }

    private static func names(_ names: [String]) -> String {
        let shown = names.sorted().prefix(20).joined(separator: ", ")
        return names.count > 20 ? shown + " and \(names.count - 20) more" : shown
    }
}
