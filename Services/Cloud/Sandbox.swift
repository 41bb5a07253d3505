import Foundation

/// The wall between the processes of cloud code and the host (docs/cloud-code.md).
enum SandboxKind: String, CaseIterable, Sendable {
    case off
    case bubblewrap
}

/// The command that puts a program into namespaces of its own by bubblewrap: it sees Debian's programs and libraries,
/// what TLS and names of hosts need, its own folders, all of it read-only, and an empty `/tmp`; no process but its own,
/// and where it is so wanted no network.
package struct Sandbox: Sendable {
    /// Where Debian's package has it.
    package static let program = "/usr/bin/bwrap"
    /// Bytes of its `/tmp`, which are the host's memory.
    private static let temporaryBytes = 64 << 20
    private static let links = [
        ("usr/bin", "/bin"), ("usr/sbin", "/sbin"), ("usr/lib", "/lib"), ("usr/lib64", "/lib64"),
    ]
    private static let settings = [
        "/etc/alternatives", "/etc/ssl", "/etc/ca-certificates", "/etc/resolv.conf", "/etc/hosts",
        "/etc/nsswitch.conf", "/etc/localtime",
    ]

    /// Where a program in it finds the socket of the way out.
    package static let proxy = "/run/satchel/proxy"

    private let hasNetwork: Bool
    /// The host's path of that socket; nil without one.
    private let proxy: String?
    /// What it sees beside the system's, each at its own path.
    private let visible: [String]

    /// - Parameters:
    ///   - proxy: the host's path of a socket that programs see at `Sandbox.proxy`.
    ///   - visible: absolute paths of files and folders.
    package init(hasNetwork: Bool, proxy: String? = nil, visible: [String]) {
        self.hasNetwork = hasNetwork
        self.proxy = proxy
        self.visible = visible
    }

    /// The words before those of the program.
    /// - Parameter folder: where it begins; one of `visible` or in one.
    package func prefix(folder: String) -> [String] {
        var words = [Self.program, "--unshare-all"]
        if hasNetwork { words.append("--share-net") }
        words += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr"]
        for (target, path) in Self.links { words += ["--symlink", target, path] }
        for path in Self.settings { words += ["--ro-bind-try", path, path] }
        words += ["--proc", "/proc", "--dev", "/dev", "--size", "\(Self.temporaryBytes)", "--tmpfs", "/tmp"]
        // After /tmp, since one of them may be in it.
        for path in visible { words += ["--ro-bind", path, path] }
        if let proxy { words += ["--ro-bind", proxy, Self.proxy] }
        // Last, since what is mounted needs its place. The root and /dev are the host's memory without a bound, and to
        // the user root the kernel's settings in /proc/sys are files that he may write, whatever rights he gave up.
        for path in ["/proc", "/dev", "/"] { words += ["--remount-ro", path] }
        return words + ["--chdir", folder, "--"]
    }

    /// The file of a program that is called by a name or a path.
    /// - Parameter path: the folders where names are looked for, with colons between them.
    package static func file(of program: String, path: String) -> String {
        let candidates: [String] =
            program.contains("/") ? [program] : path.split(separator: ":").map { "\($0)/\(program)" }
        let found = candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
        return found.map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().path } ?? program
    }
}
