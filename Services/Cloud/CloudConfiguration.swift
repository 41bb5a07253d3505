import Foundation
import ParseProtocol
import ProcessKit

/// The settings of cloud code (docs/reference/settings.md).
package struct CloudConfiguration: Sendable {
    /// The path of the code: the folder with `main.js`, or a link to it.
    package let place: String
    /// The folder with `main.js`.
    package private(set) var folder: String
    /// Whether the master key may upload code (`deployCloudCode`).
    package let allowsDeployByRoute: Bool
    /// The Node program: a path, or a name that is searched on `PATH`.
    package let node: String
    /// Number of Node processes, 1 to 16.
    package let processes: Int
    /// Heap limit of each process in megabytes.
    package let heapMegabytes: Int
    package let functionLimit: Duration
    package let triggerLimit: Duration
    package let jobLimit: Duration
    package let applicationId: String
    package let serverURL: String
    /// Whether requests of the code carry the caller's session by default, as on hosted Parse.
    package let actsAsCaller: Bool
    /// Nil: the processes run without a sandbox and see the host's network and files.
    private let network: CodeNetwork?
    /// The path of `CodeProxy`'s socket, used with a list of allowed hosts.
    let proxySocket: String
    /// Maximum bytes of a socket's path, without the terminating zero (unix(7)).
    private static let socketPathMax = 107
    /// The environment of each process.
    let environment: CodeEnvironment
    /// Whose accounts hosted Parse's modules for Stripe and Mailgun use.
    private let providers: CodeProviders
    /// Provider URLs for these modules when the code uses its own accounts; nil for the providers' standard URLs.
    package let stripeURL: String?
    package let mailgunURL: String?
    /// The script that each process runs; it loads the code.
    package var runtime = Bundle.module.bundleURL.appendingPathComponent("Runtime/main.js").path

    /// - Parameter replica: the process's name, unique among processes with the same data directory.
    /// - Throws: `StartupProblem`.
    package init(
        _ settings: Settings, dataDirectory: String, replica: String = "cloud-1"
    ) throws(StartupProblem) {
        let path = settings.text("satchel.cloud.code", default: dataDirectory + "/cloud")
        // A deployed version is reached through a link (scripts/cloud) whose target may change meanwhile.
        let url = URL(fileURLWithPath: path)
        place = url.standardizedFileURL.path
        folder = url.resolvingSymlinksInPath().standardizedFileURL.path
        allowsDeployByRoute = try settings.flag("satchel.cloud.deploy.by.route", default: false)
        node = settings.text("satchel.cloud.node", default: "node")
        processes = try settings.number("satchel.cloud.processes", 1...16, default: 2)
        heapMegabytes = try settings.number("satchel.cloud.heap.mb", 32...16_384, default: 128)
        // The gateway's clients time out after 30 s.
        let functionSeconds = try settings.number("satchel.cloud.function.seconds", 1...25, default: 15)
        let triggerSeconds = try settings.number("satchel.cloud.trigger.seconds", 1...25, default: 5)
        functionLimit = .seconds(functionSeconds)
        triggerLimit = .seconds(triggerSeconds)
        // At most one day: every deployment replaces the process, so longer jobs belong elsewhere.
        let jobSeconds = try settings.number("satchel.cloud.job.seconds", 1...86_400, default: 1_800)
        jobLimit = .seconds(jobSeconds)
        applicationId = settings.text("satchel.app.id", default: "satchel")
        serverURL = PublicURL { settings[$0] }.text
        providers = try settings.choice("satchel.cloud.providers", default: CodeProviders.shop)
        stripeURL = settings["satchel.stripe.url"]
        mailgunURL = settings["satchel.mailgun.url"]
        environment = try CodeEnvironment(settings)
        actsAsCaller = try settings.flag("satchel.cloud.as.caller", default: false)
        let sandbox = try settings.choice("satchel.cloud.sandbox", default: SandboxKind.off)
        let network = try CodeNetwork(settings)
        proxySocket = URL(fileURLWithPath: dataDirectory).standardizedFileURL.path + "/\(replica).proxy"
        guard sandbox == .bubblewrap else {
            guard network == .on else {
                throw settings.wrong("satchel.cloud.network", "needs SATCHEL_CLOUD_SANDBOX=bubblewrap.")
            }
            self.network = nil
            return
        }
        guard FileManager.default.isExecutableFile(atPath: Sandbox.program) else {
            throw settings.wrong("satchel.cloud.sandbox", "needs \(Sandbox.program), of Debian's package bubblewrap.")
        }
        guard !Self.isSeen(dataDirectory) else {
            throw settings.wrong("satchel.cloud.sandbox", "cannot hide data that is below /usr.")
        }
        if case .list = network, proxySocket.utf8.count > Self.socketPathMax {
            throw settings.wrong("satchel.cloud.network", "needs a shorter path than \(proxySocket).")
        }
        self.network = network
    }

    /// The hosts that the code may reach through the proxy; nil without a proxy.
    var allowedHosts: AllowedHosts? {
        if case .list(let hosts) = network { hosts } else { nil }
    }

    /// Whether every sandbox shows the folder, because it is below `/usr`.
    private static func isSeen(_ folder: String) -> Bool {
        (URL(fileURLWithPath: folder).resolvingSymlinksInPath().standardizedFileURL.path + "/").hasPrefix("/usr/")
    }

    /// The same settings with another code folder.
    func with(folder path: String) -> CloudConfiguration {
        var other = self
        other.folder = URL(fileURLWithPath: path).resolvingSymlinksInPath().standardizedFileURL.path
        return other
    }

    /// Whether there is code.
    var hasCode: Bool { FileManager.default.fileExists(atPath: folder + "/main.js") }

    /// The command line of a process. The process ends with the thread that started it, cannot gain privileges, and
    /// starts in the code's folder.
    package var command: [String] {
        ["/usr/bin/setpriv", "--pdeathsig", "KILL", "--no-new-privs", "--"]
            + (network.map(sandboxed) ?? ["/usr/bin/env", "--chdir=\(folder)", "--", node])
            + ["--max-old-space-size=\(heapMegabytes)", runtime]
    }

    private func sandboxed(_ network: CodeNetwork) -> [String] {
        let path = environment.passed.first { $0.hasPrefix("PATH=") }.map { String($0.dropFirst("PATH=".count)) } ?? ""
        let program = Sandbox.file(of: node, path: path)
        var visible = [URL(fileURLWithPath: runtime).deletingLastPathComponent().path, folder]
        if !program.hasPrefix("/usr/") { visible.append(program) }
        let proxy = allowedHosts == nil ? nil : proxySocket
        return Sandbox(hasNetwork: network == .on, proxy: proxy, visible: visible).prefix(folder: folder) + [program]
    }

    /// The first frame to a process.
    var load: JSON {
        var config: JSON = ["actAsCaller": .bool(actsAsCaller), "providers": .string(providers.rawValue)]
        if allowedHosts != nil { config["proxy"] = .string(Sandbox.proxy) }
        if let stripeURL { config["stripeURL"] = .string(stripeURL) }
        if let mailgunURL { config["mailgunURL"] = .string(mailgunURL) }
        return [
            "t": "load", "folder": .string(folder), "applicationId": .string(applicationId),
            "serverURL": .string(serverURL), "config": config,
        ]
    }
}

/// Whose accounts hosted Parse's modules for Stripe and Mailgun use.
enum CodeProviders: String, CaseIterable, Sendable {
    /// The shop's accounts: requests go through `payments` and `mail`, and keys in the code are ignored.
    case shop
    /// The code's own accounts: the code calls the providers itself, with the keys that it names.
    case own
}
