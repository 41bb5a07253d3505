import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Checks that the built and running code is the reviewed code (2021-47986, 2021-47987, 2025-67727).
@Suite struct SupplyChainTests {
    /// The transitive packages of Package.swift: origin and version as reviewed. A build that resolves another version
    /// fails here until a maintainer reviews the change and updates this list.
    private static let reviewed: [String: String] = [
        "apple/swift-algorithms": "1.2.1",
        "apple/swift-asn1": "1.7.4",
        "apple/swift-async-algorithms": "1.1.4",
        "apple/swift-atomics": "1.3.0",
        "apple/swift-certificates": "1.21.1",
        "apple/swift-configuration": "1.4.0",
        "apple/swift-crypto": "4.5.2",
        "apple/swift-distributed-tracing": "1.7.3",
        "apple/swift-http-structured-headers": "1.7.0",
        "apple/swift-nio-extras": "1.35.2",
        "apple/swift-nio-http2": "1.46.0",
        "apple/swift-nio-ssl": "2.37.6",
        "apple/swift-nio-transport-services": "1.28.0",
        "apple/swift-numerics": "1.1.1",
        "apple/swift-system": "1.8.1",
        "swift-server/async-http-client": "1.37.0",
        "swift-server/swift-service-lifecycle": "2.13.0",
    ]

    private func text(_ path: String) throws -> String {
        try String(contentsOfFile: "\(checkoutDirectory)/\(path)", encoding: .utf8)
    }

    /// `owner/name` of a package on GitHub; nil for any other origin.
    private static func origin(_ url: some StringProtocol) -> String? {
        let site = "https://github.com/"
        guard url.hasPrefix(site) else { return nil }
        let path = url.dropFirst(site.count)
        return String(path.hasSuffix(".git") ? path.dropLast(4) : path)
    }

    /// The versions that Package.swift requests, by origin.
    private func wanted() throws -> [String: String] {
        let manifest = try text("Package.swift")
        #expect(!manifest.contains("branch:"))
        #expect(!manifest.contains("revision:"))
        #expect(!manifest.contains("from: \""))
        #expect(!manifest.contains("upToNext"))
        let exact = #/\.package\(url: "(?<url>[^"]+)", exact: "(?<version>[0-9.]+)"/#
        var versions: [String: String] = [:]
        for line in manifest.split(separator: "\n") where line.contains(".package(") {
            let match = try #require(try exact.firstMatch(in: line), "\(line)")
            let origin = try #require(Self.origin(match.url), "\(line)")
            versions[origin] = String(match.version)
        }
        return versions
    }

    @Test(
        "2021-47986, 2021-47987: every dependency asked for is of one exact version, and every other one was reviewed")
    func advisory2021_47986_47987() throws {
        let asked = try wanted()
        #expect(asked.count > 5)
        #expect(Set(asked.keys).isDisjoint(with: Self.reviewed.keys))
        let expected = asked.merging(Self.reviewed) { version, _ in version }
        // Each build writes it, so it matches the tested build; it is not in the repository.
        let pins = try #require(try JSON(parsing: text("Package.resolved"))["pins"]?.arrayValue)
        #expect(pins.count == expected.count)
        for pin in pins {
            let origin = try #require(pin["location"]?.stringValue.flatMap { Self.origin($0) }, "\(pin.serializedText)")
            #expect(pin.at("state", "branch") == nil, "\(origin)")
            #expect(pin.at("state", "version")?.stringValue == expected[origin], "\(origin)")
        }
    }

    /// Debian updates its OpenSSL package. A compiled copy would need updates by Satchel, and would slow down each
    /// clean build.
    @Test func noTargetCompilesATLSLibrary() throws {
        let manifest = try text("Package.swift")
        for product in [
            "AsyncHTTPClient", "Crypto", "HummingbirdHTTP2", "HummingbirdTesting", "HummingbirdTLS", "NIOSSL",
        ] {
            #expect(!manifest.contains(".product(name: \"\(product)\""), "\(product)")
        }
    }

    @Test("2025-67727: the checks run one script of this repository and nothing that a change brings along")
    func advisory2025_67727() throws {
        let lines = try text(".ci/run").split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(lines.count == 3, "\(lines)")
        #expect(lines.first == "set -euo pipefail")
        #expect(lines.last?.hasPrefix("exec ") == true, "\(lines)")
        #expect(lines.last?.contains("/../scripts/test\"") == true, "\(lines)")
        #expect(!FileManager.default.fileExists(atPath: "\(checkoutDirectory)/.github/workflows"))
    }
}
