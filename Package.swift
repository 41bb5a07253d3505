// swift-tools-version: 6.1
import PackageDescription

let services = [
    "Gateway", "Catalog", "Users", "Bag", "Payments", "Mail", "Push", "Analytics", "Crash", "Cloud", "Web",
]

/// A service: a process that communicates with the others only over the message bus.
func service(_ name: String, dependencies: [Target.Dependency] = []) -> Target {
    let resources = ["Mail": "Templates", "Cloud": "Runtime"]
    return .target(
        name: "\(name)Service",
        dependencies: ["ServiceKit", "ProcessKit", "ObjectStore", "MessageBus", "Messages", "ParseProtocol"]
            + dependencies,
        path: "Services/\(name)",
        exclude: ["README.md"],
        resources: resources[name].map { [Resource.copy($0)] } ?? []
    )
}

/// For tests and tools that mostly wait for processes: optimising them takes longer than they run.
let unoptimised: [SwiftSetting] = [.unsafeFlags(["-Onone"])]

/// Keeps log lines for a test.
let inMemoryLogging = Target.Dependency.product(name: "InMemoryLogging", package: "swift-log")

/// Tests of one service that keeps objects or tables, in process.
func serviceTests(_ name: String, dependencies: [Target.Dependency] = []) -> Target {
    let tested = Target.Dependency.target(name: "\(name)Service")
    return .testTarget(
        name: "\(name)Tests",
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
        // Every service: scripts/up and the Containerfile make a link to it by each service's name.
        .executable(name: "satchel", targets: ["Satchel"]),
        .executable(name: "satchel-setup", targets: ["Setup"]),
    ],
    // At most one trait per package: SwiftPM passes several traits to the compiler in a random order, and a changed
    // command recompiles the package (swiftlang/swift-package-manager#10525). Satchel needs none of the default traits.
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/swift-mustache", exact: "2.1.1"),
        .package(url: "https://github.com/apple/swift-protobuf", exact: "1.39.0", traits: []),
        .package(url: "https://github.com/apple/swift-nio", exact: "2.101.2"),
        .package(url: "https://github.com/apple/swift-http-types", exact: "1.8.0", traits: []),
        .package(url: "https://github.com/apple/swift-log", exact: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics", exact: "2.13.0"),
        .package(url: "https://github.com/apple/swift-service-context", exact: "1.5.1"),
        .package(url: "https://github.com/apple/swift-collections", exact: "1.6.0"),
        .package(url: "https://github.com/apple/swift-argument-parser", exact: "1.8.2"),
    ],
    targets: [
        // C libraries from Debian.
        .systemLibrary(name: "CZeroMQ", path: "Shared/CZeroMQ", providers: [.apt(["libzmq3-dev"])]),
        .systemLibrary(
            name: "CPCRE2", path: "Shared/CPCRE2", pkgConfig: "libpcre2-8", providers: [.apt(["libpcre2-dev"])]),
        .systemLibrary(name: "CSQLite", path: "Shared/CSQLite", providers: [.apt(["libsqlite3-dev"])]),

        .systemLibrary(name: "CZlib", path: "Shared/CZlib", pkgConfig: "zlib", providers: [.apt(["zlib1g-dev"])]),
        .systemLibrary(name: "COpenSSL", path: "Shared/COpenSSL", providers: [.apt(["libssl-dev"])]),
        .systemLibrary(name: "CCrypt", path: "Shared/CCrypt", providers: [.apt(["libcrypt-dev"])]),
        // The first call loads these two, with the header in CLoaded.
        .target(name: "CLoaded", path: "Shared/CLoaded"),
        .target(name: "CPostgreSQL", dependencies: ["CLoaded"], path: "Shared/CPostgreSQL"),
        .target(name: "CCurl", dependencies: ["CLoaded"], path: "Shared/CCurl"),

        // Shared modules, lowest first. A module depends only on modules listed above it.
        .target(
            name: "ParseProtocol",
            dependencies: [.product(name: "ServiceContextModule", package: "swift-service-context")],
            path: "Shared/ParseProtocol"
        ),
        .target(name: "Compression", dependencies: ["CZlib"], path: "Shared/Compression"),
        .target(name: "Cryptography", dependencies: ["COpenSSL"], path: "Shared/Cryptography"),
        .target(name: "SignedTokens", dependencies: ["Cryptography", "ParseProtocol"], path: "Shared/SignedTokens"),
        .target(
            name: "Messages",
            dependencies: [.product(name: "SwiftProtobuf", package: "swift-protobuf")],
            path: "Shared/Messages",
            exclude: ["README.md", "Protos"],
            // The compiler proves exclusive access to the messages, which are structs. It cannot see that only one
            // struct uses the class behind a large one, and would check each of its fields at run time: an envelope
            // has nineteen, and is copied three times in a call.
            swiftSettings: [.unsafeFlags(["-enforce-exclusivity=unchecked"])]
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
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceContextModule", package: "swift-service-context"),
            ],
            path: "Shared/ObjectStore"
        ),
        .target(name: "Outbound", dependencies: ["CCurl"], path: "Shared/Outbound"),
        .target(
            name: "ProcessKit",
            dependencies: [
                "Cryptography", "MessageBus", "Messages", "Outbound", "ParseProtocol",
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Shared/ProcessKit"
        ),
        .target(name: "Books", dependencies: ["ParseProtocol"], path: "Shared/Books"),
        .target(
            name: "ServiceKit",
            dependencies: [
                "Books", "Cryptography", "MessageBus", "Messages", "ObjectStore", "ParseProtocol", "ProcessKit",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "ServiceContextModule", package: "swift-service-context"),
            ],
            path: "Shared/ServiceKit"
        ),
        .target(
            name: "Platform",
            dependencies: [
                "Cryptography", "MessageBus", "Messages", "ObjectStore", "Outbound", "ParseProtocol", "ProcessKit",
                "ServiceKit",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Shared/Platform",
            exclude: ["README.md"]
        ),

        // Services.
        .target(
            name: "GatewayService",
            dependencies: [
                "Books", "Compression", "Cryptography", "MessageBus", "Messages", "Outbound", "ParseProtocol",
                "ProcessKit",
                .product(name: "DequeModule", package: "swift-collections"),
                // Only the codec: a framework's HTTP server added a minute to every first build (`HTTP/Server`).
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
                .product(name: "ServiceContextModule", package: "swift-service-context"),
            ],
            path: "Services/Gateway",
            exclude: ["README.md"],
            resources: [.copy("Resources/OpenAPI")]
        ),
        service("Catalog", dependencies: ["Platform"]),
        service("Users", dependencies: ["CCrypt", "Cryptography", "Outbound", "SignedTokens"]),
        service("Bag", dependencies: ["Cryptography"]),
        service("Payments", dependencies: ["Cryptography", "Outbound"]),
        service("Mail", dependencies: ["Outbound", .product(name: "Mustache", package: "swift-mustache")]),
        service(
            "Push",
            dependencies: [
                "Cryptography", "Outbound", "SignedTokens",
            ]),
        service("Analytics"),
        service("Crash", dependencies: ["Compression", "Cryptography"]),
        service(
            "Cloud",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOPosix", package: "swift-nio"),
            ]),
        // Without ServiceKit: it has no database.
        .target(
            name: "WebService",
            dependencies: [
                "Compression", "Cryptography", "MessageBus", "Messages", "ParseProtocol", "ProcessKit",
                .product(name: "Mustache", package: "swift-mustache"),
            ],
            path: "Services/Web",
            exclude: ["README.md"],
            resources: [.copy("Pages"), .copy("Site"), .copy("Storefront")]
        ),
        .executableTarget(
            name: "Satchel", dependencies: services.map { .target(name: "\($0)Service") }, path: "Services/Satchel"),

        // The tool behind scripts/up, scripts/verify and scripts/add-products. It parses its dozen options itself:
        // ArgumentParser would add a minute to every first build.
        .executableTarget(
            name: "Setup",
            dependencies: ["Books", "CSQLite", "Outbound", "ParseProtocol"],
            path: "scripts/lib/setup",
            swiftSettings: unoptimised
        ),
    ]
)

// Tests and tools, which no shop runs. `scripts/up` and the Containerfile leave them out with SATCHEL_SHOP_ONLY=1;
// plain `swift build` and `swift test` include them. Both variants share .build and compile common targets with the
// same command, so that a change of variant compiles only the difference. `--product` is no alternative: SwiftPM
// accepts one product at a time and plans each build again.
//
// SwiftPM deletes the sources of a package that the variant drops, and recompiles them when it returns. So
// ArgumentParser is listed above, although only tools use it. Hummingbird is listed below: a shop's first build would
// fetch the seventeen packages that it names. Only a baseline of the benchmarks is compiled with it.
//
// No target may depend on AsyncHTTPClient or HummingbirdTLS: they bring a TLS library of four hundred C files.
if Context.environment["SATCHEL_SHOP_ONLY"] != "1" {
    package.dependencies += [
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", exact: "0.2.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", exact: "2.28.1", traits: []),
    ]
    package.products += [
        .executable(name: "satchel-bench", targets: ["Benchmarks"]),
        .executable(name: "satchel-bare-route", targets: ["BareRoute"]),
        .executable(name: "satchel-attack", targets: ["Attack"]),
        .executable(name: "satchel-load", targets: ["Load"]),
        .executable(name: "satchel-move-in", targets: ["MoveIn"]),
    ]
    package.targets += [
        // Tools behind scripts/bench, scripts/attack, scripts/load, and scripts/move-in and scripts/move-out.
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "CPostgreSQL", "CSQLite", "CZeroMQ", "Cryptography", "GatewayService", "ObjectStore", "ParseProtocol",
                "SuiteClient",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "scripts/lib/bench-probes"
        ),
        .executableTarget(
            name: "BareRoute",
            dependencies: [
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "scripts/lib/bench-baseline"
        ),
        .target(
            name: "SuiteClient",
            dependencies: [
                "ParseProtocol",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            path: "scripts/lib/client"
        ),
        .executableTarget(
            name: "Attack",
            dependencies: [
                "ParseProtocol", "SuiteClient",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "scripts/lib/attack", exclude: ["cloud"]
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
            path: "scripts/lib/load",
            exclude: ["picture.py", "shoppers.json", "test_picture.py"]
        ),
        .executableTarget(
            name: "MoveIn",
            dependencies: [
                "CPostgreSQL", "Compression", "Cryptography", "Messages", "ObjectStore", "Outbound", "ParseProtocol",
                "Platform", "PostgreSQL",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            path: "scripts/lib/move-in",
            swiftSettings: [.unsafeFlags(["-enable-testing"])]
        ),

        // Tests mirror the folders above; scenarios talk HTTP to real processes.
        .target(
            name: "TestSupport",
            dependencies: [
                "Compression", "ParseProtocol", "ProcessKit",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOWebSocket", package: "swift-nio"),
            ],
            path: "Tests/Support",
            exclude: ["Hosts/hosts.py"]
        ),
        .testTarget(name: "ParseProtocolTests", dependencies: ["ParseProtocol"], swiftSettings: unoptimised),
        .testTarget(
            name: "MessageBusTests",
            dependencies: [
                "MessageBus", "Messages", "CZeroMQ", "TestSupport", .product(name: "Logging", package: "swift-log"),
                inMemoryLogging,
            ],
            swiftSettings: unoptimised),
        .testTarget(
            name: "CryptographyTests", dependencies: ["Cryptography", "SignedTokens", "ParseProtocol"],
            swiftSettings: unoptimised),
        .testTarget(name: "BooksTests", dependencies: ["Books", "ParseProtocol"], swiftSettings: unoptimised),
        .testTarget(
            name: "ProcessKitTests",
            dependencies: [
                "ProcessKit", "MessageBus", "ParseProtocol", .product(name: "Logging", package: "swift-log"),
            ], swiftSettings: unoptimised),
        .testTarget(
            name: "OutboundTests", dependencies: ["Outbound", "TestSupport", "ParseProtocol"],
            swiftSettings: unoptimised),
        .testTarget(
            name: "PostgreSQLTests", dependencies: ["CPostgreSQL", "PostgreSQL", "TestSupport"],
            swiftSettings: unoptimised),
        .testTarget(
            name: "ObjectStoreTests", dependencies: ["ObjectStore", "ParseProtocol", "TestSupport"],
            exclude: ["Fixtures"], swiftSettings: unoptimised),
        // Tests of services in process: a target for each service, and one for rules that several services share.
        .target(
            name: "ServiceSupport",
            dependencies: [
                "ServiceKit", "ProcessKit", "ObjectStore", "Messages", "ParseProtocol", "TestSupport",
                .product(name: "Logging", package: "swift-log"),
            ],
            path: "Tests/ServiceSupport"
        ),
        .testTarget(
            name: "ServiceKitTests",
            dependencies: [
                "ServiceKit", "ProcessKit", "ObjectStore", "MessageBus", "Messages", "ParseProtocol", "ServiceSupport",
                "TestSupport",
                .product(name: "ServiceContextModule", package: "swift-service-context"),
            ], swiftSettings: unoptimised),
        .testTarget(
            name: "GatewayTests",
            dependencies: [
                "Books", "GatewayService", "MessageBus", "Messages", "ParseProtocol", "ProcessKit", "TestSupport",
                inMemoryLogging,
                .product(name: "Logging", package: "swift-log"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOEmbedded", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: unoptimised),
        .testTarget(
            name: "PlatformTests",
            dependencies: [
                "Platform", "ServiceSupport", "ServiceKit", "Outbound", "ProcessKit", "ObjectStore", "Messages",
                "ParseProtocol",
            ], swiftSettings: unoptimised),
        serviceTests("Catalog", dependencies: ["Platform"]),
        serviceTests("Users", dependencies: ["TestSupport"]),
        serviceTests("Bag", dependencies: ["TestSupport"]),
        serviceTests("Payments", dependencies: ["Outbound", "TestSupport", inMemoryLogging]),
        serviceTests("Mail", dependencies: ["Outbound", "TestSupport"]),
        serviceTests("Push", dependencies: ["TestSupport"]),
        serviceTests("Analytics", dependencies: ["GatewayService"]),
        serviceTests("Crash", dependencies: ["Compression", "TestSupport"]),
        serviceTests("Cloud", dependencies: ["TestSupport", inMemoryLogging]),
        .testTarget(
            name: "WebTests", dependencies: ["WebService", "Messages", "ParseProtocol", "ProcessKit"],
            swiftSettings: unoptimised),
        .testTarget(
            name: "ServiceTests",
            dependencies: [
                "Books", "ServiceKit", "ServiceSupport", "ProcessKit", "ObjectStore", "MessageBus", "Messages",
                "ParseProtocol",
                "TestSupport", "AnalyticsService", "BagService", "CatalogService", "CloudService", "CrashService",
                "GatewayService", "MailService", "PaymentsService", "PushService", "UsersService", "WebService",
            ], swiftSettings: unoptimised),
        // The simulation of checkouts. Optimised: it runs hundreds of seeds.
        .target(name: "VirtualThread", path: "Tests/VirtualThread"),
        .testTarget(
            name: "SimulationTests",
            dependencies: [
                "Books", "BagService", "CatalogService", "Cryptography", "MailService", "MessageBus", "Messages",
                "ObjectStore", "Outbound", "ParseProtocol", "PaymentsService", "ProcessKit", "ServiceKit",
                "VirtualThread",
                .product(name: "Logging", package: "swift-log"),
            ]),
        .testTarget(
            name: "SuiteClientTests", dependencies: ["SuiteClient", .product(name: "NIOCore", package: "swift-nio")]),
        .testTarget(name: "AttackTests", dependencies: ["Attack"]),
        .testTarget(
            name: "LoadTests", dependencies: ["Load", "ParseProtocol", "TestSupport"], swiftSettings: unoptimised),
        .testTarget(
            name: "MoveInTests",
            dependencies: [
                "MoveIn", "Compression", "CPostgreSQL", "Cryptography", "Outbound", "ParseProtocol", "PostgreSQL",
                "TestSupport",
            ],
            exclude: ["Fixtures"], swiftSettings: unoptimised),
        scenarios("SuiteScenarios", exclude: ["Fixtures"]),
        scenarios("GatewayScenarios"),
        scenarios("HardeningScenarios"),
        scenarios("HostScenarios"),
        scenarios("LiveScenarios"),
        scenarios("ProtocolScenarios"),
        scenarios("SDKScenarios"),
        scenarios("ShopScenarios"),
        scenarios("UsersScenarios"),
        .testTarget(
            name: "CostTests",
            dependencies: [
                "ObjectStore", "ParseProtocol", "ServiceKit", "ServiceSupport", "SignedTokens", "TestSupport",
                "AnalyticsService", "CloudService", "CrashService", "GatewayService", "MailService", "UsersService",
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "FuzzTests",
            dependencies: [
                "ObjectStore", "MessageBus", "Messages", "ParseProtocol", "ServiceKit", "ServiceSupport", "TestSupport",
                "CZlib", "Compression", "CrashService", "GatewayService", "MoveIn", "PushService", "UsersService",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "SwiftProtobuf", package: "swift-protobuf"),
            ],
            exclude: ["Corpus"]
        ),
    ]
}

// Hummingbird is a sixth of the compiler's work, for one baseline of the benchmarks. scripts/test leaves it out, and
// scripts/bench builds it.
if Context.environment["SATCHEL_BASELINES"] == "off" {
    package.products.removeAll { $0.name == "satchel-bare-route" }
    package.targets.removeAll { $0.name == "BareRoute" }
}

// scripts/lib/common.sh builds without cross-module optimisation and without debug information. That saves a third of
// the compile time and costs little for packages that mark their inlinable functions. Satchel's modules mark none, and
// stack traces need their lines: these flags restore both for them. A failed test names its line itself.
for target in package.targets where target.type != .system && target.type != .test {
    var settings = target.swiftSettings ?? []
    settings.append(.unsafeFlags(["-Xfrontend", "-gline-tables-only"]))
    if target.path?.hasPrefix("Shared/") == true {
        settings.append(.unsafeFlags(["-Xfrontend", "-enable-default-cmo"]))
    }
    target.swiftSettings = settings
}
