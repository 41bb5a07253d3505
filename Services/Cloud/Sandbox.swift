import Foundation

/// How the processes of cloud code are isolated from the host (docs/guides/cloud-code.md).
enum SandboxKind: String, CaseIterable, Sendable {
    case off
    case bubblewrap
}

/// The bubblewrap command that runs a program in separate namespaces. The program sees, read-only, Debian's programs
/// and libraries, the files for TLS and name resolution, and its own folders. It has an empty `/tmp`, sees no other
/// processes and, if configured, has no network.
package struct Sandbox: Sendable {
    /// The path in Debian's package.
    package static let program = "/usr/bin/bwrap"
    /// Maximum bytes of its `/tmp`, which use the host's memory.
    private static let temporaryBytes = 64 << 20
    private static let links = [
        ("usr/bin", "/bin"), ("usr/sbin", "/sbin"), ("usr/lib", "/lib"), ("usr/lib64", "/lib64"),
    ]
    private static let settings = [
        "/etc/alternatives", "/etc/ssl", "/etc/ca-certificates", "/etc/resolv.conf", "/etc/hosts",
        "/etc/nsswitch.conf", "/etc/localtime",
    ]

    /// The path of the proxy's socket inside the sandbox.
    package static let proxy = "/run/satchel/proxy"

    private let hasNetwork: Bool
    /// The host's path of that socket; nil without a proxy.
    private let proxy: String?
    /// Additional visible files and folders, at the same paths as on the host.
    private let visible: [String]

    /// - Parameters:
    ///   - proxy: the host's path of a socket that programs see at `Sandbox.proxy`.
    ///   - visible: absolute paths of files and folders.
    package init(hasNetwork: Bool, proxy: String? = nil, visible: [String]) {
        self.hasNetwork = hasNetwork
        self.proxy = proxy
        self.visible = visible
    }

    /// The arguments that precede the program's own.
    /// - Parameter folder: the working directory; one of `visible` or inside one.
    package func prefix(folder: String) -> [String] {
        var words = [Self.program, "--unshare-all"]
        if hasNetwork { words.append("--share-net") }
        words += ["--die-with-parent", "--new-session", "--cap-drop", "ALL", "--ro-bind", "/usr", "/usr"]
        for (target, path) in Self.links { words += ["--symlink", target, path] }
        for path in Self.settings { words += ["--ro-bind-try", path, path] }
        words += ["--proc", "/proc", "--dev", "/dev", "--size", "\(Self.temporaryBytes)", "--tmpfs", "/tmp"]
        // After /tmp, because one of them may be inside it.
        for path in visible { words += ["--ro-bind", path, path] }
        if let proxy { words += ["--ro-bind", proxy, Self.proxy] }
        // Last, because mounts need writable mount points. The root and /dev would otherwise be unbounded memory of the
        // host. For the user root, the kernel settings in /proc/sys would be writable files, whatever privileges were
        // dropped.
        for path in ["/proc", "/dev", "/"] { words += ["--remount-ro", path] }
        return words + ["--chdir", folder, "--"]
    }

    /// The file of a program given by name or path.
    /// - Parameter path: the folders to search for a name, separated by colons.
    package static func file(of program: String, path: String) -> String {
        let candidates: [String] =
            program.contains("/") ? [program] : path.split(separator: ":").map { "\($0)/\(program)" }
        let found = candidates.first { FileManager.default.isExecutableFile(atPath: $0) }
        return found.map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().path } ?? program
    }
}
