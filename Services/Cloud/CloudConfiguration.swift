import Foundation
import ParseProtocol
import ProcessKit

/// The settings of cloud code (docs/settings.md).
package struct CloudConfiguration: Sendable {
    /// The path of the code: the folder with `main.js`, or a link to it.
    package let place: String
    /// The folder with `main.js`.
    package private(set) var folder: String
    /// Whether the master key may bring code (`deployCloudCode`).
    package let takesCodeByRoute: Bool
    /// The program that runs it: a path, or a name that is looked for on `PATH`.
    package let node: String
    /// Node processes, 1 to 16.
    package let processes: Int
    /// Megabytes of each process's heap.
    package let heapMegabytes: Int
    package let functionLimit: Duration
    package let triggerLimit: Duration
    package let jobLimit: Duration
    package let applicationId: String
    package let serverURL: String
    /// Whether requests of the code carry the caller's session unless it says otherwise, as hosted Parse had it.
    package let actsAsCaller: Bool
    /// Nil where the processes see what this one does.
    private let network: CodeNetwork?
    /// The path at which `CodeProxy` listens, where there is a list of hosts.
    let proxySocket: String
    /// The bytes of a socket's path, without the last, which is zero (unix(7)).
    private static let socketPathMax = 107
    /// The environment of each process.
    let environment: [String]
    /// Whose accounts hosted Parse's modules for Stripe and Mailgun use.
    private let providers: CodeProviders
    /// Where these modules find their providers with accounts of their own; nil for the providers' own addresses.
    package let stripeURL: String?
    package let mailgunURL: String?
    /// The script that each process runs, which loads the code.
    package var runtime = Bundle.module.bundleURL.appendingPathComponent("Runtime/main.js").path

    /// - Parameter replica: the process's name, unique among those that use the data directory.
    /// - Throws: `StartupProblem`.
    package init(
        _ settings: Settings, dataDirectory: String, replica: String = "cloud-1"
    ) throws(StartupProblem) {
        let path = settings.text("satchel.cloud.code", default: dataDirectory + "/cloud")
        // A version that is deployed is reached by a link (scripts/cloud), which may name another one before this ends.
        let url = URL(fileURLWithPath: path)
        place = url.standardizedFileURL.path
        folder = url.resolvingSymlinksInPath().standardizedFileURL.path
        takesCodeByRoute = try settings.flag("satchel.cloud.deploy.by.route", default: false)
        node = settings.text("satchel.cloud.node", default: "node")
        processes = try settings.number("satchel.cloud.processes", 1...16, default: 2)
        heapMegabytes = try settings.number("satchel.cloud.heap.mb", 32...16_384, default: 128)
        // Clients of the gateway give up after half a minute.
        let functionSeconds = try settings.number("satchel.cloud.function.seconds", 1...25, default: 15)
        let triggerSeconds = try settings.number("satchel.cloud.trigger.seconds", 1...25, default: 5)
        functionLimit = .seconds(functionSeconds)
        triggerLimit = .seconds(triggerSeconds)
        // A day: what takes longer is no job of a process that is replaced by every deployment.
        let jobSeconds = try settings.number("satchel.cloud.job.seconds", 1...86_400, default: 1_800)
        jobLimit = .seconds(jobSeconds)
        applicationId = settings.text("satchel.app.id", default: "satchel")
        serverURL = PublicURL { settings[$0] }.text
        providers = try settings.choice("satchel.cloud.providers", default: CodeProviders.shop)
        stripeURL = settings["satchel.stripe.url"]
        mailgunURL = settings["satchel.mailgun.url"]
        environment = settings.environmentOfPrograms
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

    /// The hosts that the code may reach through the proxy; nil where there is none.
    var allowedHosts: AllowedHosts? {
        if case .list(let hosts) = network { hosts } else { nil }
    }

    /// Whether a sandbox shows a folder, as it shows all of `/usr`.
    private static func isSeen(_ folder: String) -> Bool {
        (URL(fileURLWithPath: folder).resolvingSymlinksInPath().standardizedFileURL.path + "/").hasPrefix("/usr/")
    }

    /// The same settings with another folder of code.
    func with(folder path: String) -> CloudConfiguration {
        var other = self
        other.folder = URL(fileURLWithPath: path).resolvingSymlinksInPath().standardizedFileURL.path
        return other
    }

    /// Whether there is code.
    var hasCode: Bool { FileManager.default.fileExists(atPath: folder + "/main.js") }

    /// The command of a process. It ends with the thread that started it, keeps no right to gain others, and begins in
    /// the code's folder.
    package var command: [String] {
        ["/usr/bin/setpriv", "--pdeathsig", "KILL", "--no-new-privs", "--"]
            + (network.map(sandboxed) ?? ["/usr/bin/env", "--chdir=\(folder)", "--", node])
            + ["--max-old-space-size=\(heapMegabytes)", runtime]
    }

    private func sandboxed(_ network: CodeNetwork) -> [String] {
        let path = environment.first { $0.hasPrefix("PATH=") }.map { String($0.dropFirst("PATH=".count)) } ?? ""
        let program = Sandbox.file(of: node, path: path)
        var visible = [URL(fileURLWithPath: runtime).deletingLastPathComponent().path, folder]
        if !program.hasPrefix("/usr/") { visible.append(program) }
        let proxy = allowedHosts == nil ? nil : proxySocket
        return Sandbox(hasNetwork: network == .on, proxy: proxy, visible: visible).prefix(folder: folder) + [program]
    }

    /// The first frame of a process.
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
    /// The shop's: what the code asks of them goes through `payments` and `mail`, whatever keys it names.
    case shop
    /// The code's: it speaks to the providers itself, with the keys that it names.
    case own
}
