// swift-tools-version: 6.1
import PackageDescription

/// A service: an executable of its own that speaks to the others only through the message bus.
func service(_ name: String, dependencies: [Target.Dependency] = []) -> Target {
    let resources = ["Mail": "Templates", "Cloud": "Runtime"]
    return .executableTarget(
        name: "\(name)Service",
        dependencies: ["ServiceKit", "ProcessKit", "ObjectStore", "MessageBus", "Messages", "ParseProtocol"]
            + dependencies,
        path: "Services/\(name)",
        resources: resources[name].map { [Resource.copy($0)] } ?? []
    )
}

/// For tests and tools that mostly wait for processes: optimising them would take longer than they run.
let unoptimised: [SwiftSetting] = [.unsafeFlags(["-Onone"])]

/// Tests of one service that keeps objects or tables, in process.
func serviceTests(_ name: String, dependencies: [Target.Dependency] = []) -> Target {
    let tested = Target.Dependency.target(name: "\(name)Service")
    return .testTarget(
        name: "\(name)ServiceTests",
        dependencies: [
            tested, "ServiceSupport", "ServiceKit", "ProcessKit", "ObjectStore", "MessageBus", "Messages",
            "ParseProtocol",
        ] + dependencies,
        swiftSettings: unoptimised
    )
}

/// Scenarios of one area, over HTTP against real processes.
func scenarios(_ name: String, exclude: [String] = []) -> Target {
    .testTarget(
        name: name, dependencies: ["TestSupport", "ParseProtocol"], exclude: exclude, swiftSettings: unoptimised)
}

let package = Package(
    name: "satchel",
    products: [
        .executable(name: "gateway", targets: ["GatewayService"]),
        .executable(name: "catalog", targets: ["CatalogService"]),
        .executable(name: "users", targets: ["UsersService"]),
        .executable(name: "bag", targets: ["BagService"]),
        .executable(name: "payments", targets: ["PaymentsService"]),
        .executable(name: "mail", targets: ["MailService"]),
        .executable(name: "push", targets: ["PushService"]),
        .executable(name: "analytics", targets: ["AnalyticsService"]),
        .executable(name: "crash", targets: ["CrashService"]),
        .executable(name: "cloud", targets: ["CloudService"]),
        .executable(name: "satchel-setup", targets: ["Setup"]),
    ],
    // SwiftPM passes a package's traits to the compiler in an order that changes from plan to plan, and a command that
    // changed compiles the package anew (swiftlang/swift-package-manager#10525). One trait has but one order; of those
    // that these packages have by default none is needed.
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
        .package(url: "https://github.com/hummingbird-project/swift-mustache", exact: "2.1.1"),
        .package(url: "https://github.com/apple/swift-protobuf", exact: "1.39.0", traits: []),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-extras", exact: "1.35.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    ],
    targets: [
        // C libraries from Debian.
        .systemLibrary(name: "CZeroMQ", path: "Shared/CZeroMQ", providers: [.apt(["libzmq3-dev"])]),
        .systemLibrary(
            name: "CPCRE2", path: "Shared/CPCRE2", pkgConfig: "libpcre2-8", providers: [.apt(["libpcre2-dev"])]),
        .systemLibrary(name: "CSQLite", path: "Shared/CSQLite", providers: [.apt(["libsqlite3-dev"])]),
        .systemLibrary(
            name: "CPostgreSQL", path: "Shared/CPostgreSQL", pkgConfig: "libpq", providers: [.apt(["libpq-dev"])]),

        .systemLibrary(name: "CCurl", path: "Shared/CCurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CZlib", path: "Shared/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "COpenSSL", path: "Shared/COpenSSL", providers: [.apt(["libssl-dev"])]),

        // Shared modules, lowest first. A module only knows the ones above it.
        .target(name: "ParseProtocol", path: "Shared/ParseProtocol"),
        .target(name: "Cryptography", dependencies: ["COpenSSL"], path: "Shared/Cryptography"),
        .target(name: "SignedTokens", dependencies: ["Cryptography", "ParseProtocol"], path: "Shared/SignedTokens"),
        .target(
            name: "Messages",
            dependencies: [.product(name: "SwiftProtobuf", package: "swift-protobuf")],
            path: "Shared/Messages",
            exclude: ["README.md", "Protos"]
        ),
        .target(
            name: "MessageBus",
            dependencies: [
                "CZeroMQ", "Messages", "ParseProtocol",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "DequeModule", package: "swift-collections"),
            ],
            path: "Shared/MessageBus"
        ),
        .target(name: "PostgreSQL", dependencies: ["CPostgreSQL"], path: "Shared/PostgreSQL"),
        .target(
            name: "ObjectStore",
            dependencies: [
                "CPCRE2", "CSQLite", "ParseProtocol", "PostgreSQL",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Shared/ObjectStore"
        ),
        .target(
            name: "ProcessKit",
            dependencies: [
                "MessageBus", "Messages", "ParseProtocol",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Shared/ProcessKit"
        ),
        .target(name: "Outbound", dependencies: ["CCurl"], path: "Shared/Outbound"),
        .target(
            name: "ServiceKit",
            dependencies: [
                "MessageBus", "Messages", "ObjectStore", "ParseProtocol", "ProcessKit",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Shared/ServiceKit"
        ),

        // Services.
        .executableTarget(
            name: "GatewayService",
            dependencies: [
                "CZlib", "Cryptography", "MessageBus", "Messages", "Outbound", "ParseProtocol", "ProcessKit",
                .product(name: "DequeModule", package: "swift-collections"),
                // The codec alone: an HTTP server of a framework was a minute of every first build (`HTTP/Server`).
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Mustache", package: "swift-mustache"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
                .product(name: "NIOHTTPTypesHTTP1", package: "swift-nio-extras"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            path: "Services/Gateway",
            resources: [.copy("Resources/Pages"), .copy("Resources/OpenAPI"), .copy("Web")]
        ),
        service("Catalog", dependencies: ["Cryptography", "Outbound"]),
        service("Users", dependencies: ["Cryptography", "Outbound", "SignedTokens"]),
        service("Bag"),
        service("Payments", dependencies: ["Cryptography", "Outbound"]),
        service("Mail", dependencies: ["Outbound", .product(name: "Mustache", package: "swift-mustache")]),
        service(
            "Push",
            dependencies: [
                "Cryptography", "Outbound", "SignedTokens",
            ]),
        service("Analytics"),
        service("Crash", dependencies: ["CZlib", "Cryptography"]),
        service(
            "Cloud",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ]),

        // The tool behind scripts/up and scripts/load-demo. A dozen options are not worth a minute of ArgumentParser in
        // every first build.
        .executableTarget(
            name: "Setup",
            dependencies: ["Outbound", "ParseProtocol"],
            path: "scripts/setup",
            swiftSettings: unoptimised
        ),
    ]
)

// Everything beside the shop itself. `scripts/up` and the Containerfile leave it out with SATCHEL_SHOP_ONLY=1, because
// no shop runs it; plain `swift build` and `swift test` have all of it. Both share .build: a target that is in both is
// compiled in the same way, so that going from one to the other plans anew and compiles only what was left out.
// `--product` would not do: SwiftPM takes one at a time and plans anew for each.
//
// Both ask for the same packages but a small one: SwiftPM removes the sources of a package that is no longer asked for,
// and compiles them once more when they come back. So ArgumentParser and Hummingbird are asked for above, though only
// the tools of this section use them.
//
// No target may have AsyncHTTPClient or HummingbirdTLS behind it: with them comes a TLS library of four hundred C
// files. They are fetched all the same, because Hummingbird's package names them.
if Context.environment["SATCHEL_SHOP_ONLY"] != "1" {
    package.dependencies += [
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", exact: "0.2.0")
    ]
    package.products += [
        .executable(name: "satchel-bench", targets: ["Benchmarks"]),
        .executable(name: "satchel-attack", targets: ["Attack"]),
        .executable(name: "satchel-load", targets: ["Load"]),
    ]
    package.targets += [
        // Tools behind scripts/bench, scripts/attack and scripts/load.
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "CPostgreSQL", "CSQLite", "CZeroMQ", "Cryptography", "ObjectStore", "ParseProtocol", "SuiteClient",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "scripts/benchmarks"
        ),
        .target(
            name: "SuiteClient",
            dependencies: [
                "ParseProtocol",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ],
            path: "scripts/client"
        ),
        .executableTarget(
            name: "Attack",
            dependencies: [
                "ParseProtocol", "SuiteClient",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "scripts/attacks"
        ),
        .executableTarget(
            name: "Load",
            dependencies: [
                "ParseProtocol", "SuiteClient",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "Histogram", package: "hdrhistogram-swift"),
            ],
            path: "scripts/loads",
            exclude: ["shoppers.json"]
        ),

        // Tests mirror the folders above; the scenarios talk HTTP to real processes.
        .target(
            name: "TestSupport",
            dependencies: [
                "ParseProtocol", "ProcessKit",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            path: "Tests/Support",
            exclude: ["Hosts/hosts.py"]
        ),
        .testTarget(name: "ParseProtocolTests", dependencies: ["ParseProtocol"]),
        .testTarget(
            name: "MessageBusTests",
            dependencies: [
                "MessageBus", "Messages", "CZeroMQ", "TestSupport", .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: unoptimised),
        .testTarget(name: "CryptographyTests", dependencies: ["Cryptography", "SignedTokens", "ParseProtocol"]),
        .testTarget(name: "ProcessKitTests", dependencies: ["ProcessKit", "MessageBus"]),
        .testTarget(
            name: "OutboundTests", dependencies: ["Outbound", "TestSupport", "ParseProtocol"],
            swiftSettings: unoptimised),
        .testTarget(
            name: "PostgreSQLTests", dependencies: ["CPostgreSQL", "PostgreSQL", "TestSupport"],
            swiftSettings: unoptimised),
        .testTarget(
            name: "ObjectStoreTests", dependencies: ["ObjectStore", "ParseProtocol"], swiftSettings: unoptimised),
        // Tests of services in process: a target for each, and one for what several must agree on.
        .target(
            name: "ServiceSupport",
            dependencies: [
                "ServiceKit", "ProcessKit", "ObjectStore", "Messages", "ParseProtocol",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/ServiceSupport"
        ),
        .testTarget(
            name: "ServiceKitTests",
            dependencies: [
                "ServiceKit", "ProcessKit", "ObjectStore", "MessageBus", "Messages", "ParseProtocol", "ServiceSupport",
                "TestSupport",
            ], swiftSettings: unoptimised),
        .testTarget(
            name: "GatewayServiceTests",
            dependencies: [
                "GatewayService", "MessageBus", "Messages", "ParseProtocol", "ProcessKit", "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras"),
            ],
            swiftSettings: unoptimised),
        serviceTests("Catalog", dependencies: ["Outbound", "TestSupport"]),
        serviceTests("Users", dependencies: ["TestSupport"]),
        serviceTests("Bag", dependencies: ["TestSupport"]),
        serviceTests("Payments", dependencies: ["Outbound", "TestSupport"]),
        serviceTests("Mail", dependencies: ["Outbound", "TestSupport"]),
        serviceTests("Push", dependencies: ["TestSupport"]),
        serviceTests("Analytics", dependencies: ["GatewayService"]),
        serviceTests("Crash", dependencies: ["TestSupport"]),
        serviceTests("Cloud", dependencies: ["TestSupport"]),
        .testTarget(
            name: "ServiceTests",
            dependencies: [
                "ServiceKit", "ServiceSupport", "ProcessKit", "ObjectStore", "MessageBus", "Messages", "ParseProtocol",
                "TestSupport", "AnalyticsService", "BagService", "CatalogService", "CloudService", "CrashService",
                "GatewayService", "MailService", "PaymentsService", "PushService", "UsersService",
            ], swiftSettings: unoptimised),
        .testTarget(
            name: "SuiteClientTests", dependencies: ["SuiteClient", .product(name: "NIOCore", package: "swift-nio")]),
        .testTarget(name: "AttackTests", dependencies: ["Attack"]),
        .testTarget(
            name: "LoadTests", dependencies: ["Load", "ParseProtocol", "TestSupport"], swiftSettings: unoptimised),
        scenarios("ScenarioTests", exclude: ["Fixtures"]),
        scenarios("GatewayScenarios"),
        scenarios("HardeningScenarios"),
        scenarios("HostScenarios"),
        scenarios("LiveScenarios"),
        scenarios("ProtocolScenarios"),
        scenarios("SDKScenarios"),
        scenarios("ShopScenarios"),
        scenarios("UsersScenarios"),
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "ObjectStore", "MessageBus", "Messages", "ParseProtocol", "ServiceKit", "ServiceSupport", "TestSupport",
                "CZlib", "CrashService", "GatewayService", "PushService", "UsersService",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            exclude: ["Corpus"]
        ),
    ]
}

// scripts/lib.sh builds without optimisation across modules, which takes a third of the compiler's time and brings
// little where a package says itself what may be inlined, and without what debuggers need. Our modules do not say what
// may be inlined of them, and a stack trace shall have their lines.
for target in package.targets where target.type != .system {
    var settings = target.swiftSettings ?? []
    settings.append(.unsafeFlags(["-Xfrontend", "-gline-tables-only"]))
    if target.path?.hasPrefix("Shared/") == true {
        settings.append(.unsafeFlags(["-Xfrontend", "-enable-default-cmo"]))
    }
    target.swiftSettings = settings
}
