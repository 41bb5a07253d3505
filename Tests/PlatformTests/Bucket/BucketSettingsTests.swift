import Platform
import ProcessKit
import Testing

/// The bucket's settings, and the resulting URLs.
@Suite struct BucketSettingsTests {
    private static let secret = "do-not-show-9f2c"

    private static func configuration(_ more: [String: String]) throws -> BucketConfiguration? {
        let settings = [
            "SATCHEL_FILES_BUCKET": "shop", "SATCHEL_FILES_BUCKET_ACCESS_KEY": "AKEXAMPLE",
            "SATCHEL_FILES_BUCKET_SECRET": secret,
        ]
        return try BucketConfiguration(Settings(settings.merging(more) { $1 }))
    }

    /// Settings, and the URL of the object `0_a b.txt`.
    static let addresses: [([String: String], String)] = [
        ([:], "https://shop.s3.us-east-1.amazonaws.com/0_a%20b.txt"),
        (["SATCHEL_FILES_BUCKET_REGION": "eu-west-1"], "https://shop.s3.eu-west-1.amazonaws.com/0_a%20b.txt"),
        (["SATCHEL_FILES_BUCKET": "my.shop"], "https://s3.us-east-1.amazonaws.com/my.shop/0_a%20b.txt"),
        (["SATCHEL_FILES_BUCKET_URL": "http://127.0.0.1:9000"], "http://127.0.0.1:9000/shop/0_a%20b.txt"),
        (["SATCHEL_FILES_BUCKET_URL": "https://s3.example.com/"], "https://s3.example.com/shop/0_a%20b.txt"),
        (["SATCHEL_FILES_BUCKET_URL": "https://s3.example.com:443"], "https://s3.example.com/shop/0_a%20b.txt"),
        (["SATCHEL_FILES_BUCKET_URL": "https://{bucket}.s3.example.com"], "https://shop.s3.example.com/0_a%20b.txt"),
        (["SATCHEL_FILES_BUCKET": "s3://shop"], "https://shop.s3.us-east-1.amazonaws.com/0_a%20b.txt"),
        (["SATCHEL_FILES_BUCKET": "s3://shop/a/b"], "https://shop.s3.us-east-1.amazonaws.com/a/b/0_a%20b.txt"),
        (["SATCHEL_FILES_BUCKET_PREFIX": "a/b/"], "https://shop.s3.us-east-1.amazonaws.com/a/b/0_a%20b.txt"),
    ]

    @Test(arguments: addresses) func anObjectHasItsAddress(_ settings: [String: String], _ url: String) throws {
        let address = try #require(try Self.configuration(settings)).address
        #expect(address.url(address.path(of: "0_a b.txt")) == url)
    }

    static let wrong: [[String: String]] = [
        ["SATCHEL_FILES_BUCKET": "a"], ["SATCHEL_FILES_BUCKET": "a/b/c"], ["SATCHEL_FILES_BUCKET": "a..b"],
        ["SATCHEL_FILES_BUCKET_URL": "s3.example.com"], ["SATCHEL_FILES_BUCKET_URL": "ftp://s3.example.com"],
        ["SATCHEL_FILES_BUCKET_URL": "https://a:b@s3.example.com"],
        ["SATCHEL_FILES_BUCKET_URL": "https://s3.example.com/path"],
        ["SATCHEL_FILES_BUCKET_URL": "https://s3.example.com?a=b"],
        ["SATCHEL_FILES_BUCKET_PREFIX": "/a"], ["SATCHEL_FILES_BUCKET_PREFIX": "a//b"],
        ["SATCHEL_FILES_BUCKET_PREFIX": "a/../b"], ["SATCHEL_FILES_BUCKET_PREFIX": "a b"],
        ["SATCHEL_FILES_BUCKET_REGION": "a/b"], ["SATCHEL_FILES_BUCKET_DOWNLOADS": "open"],
        ["SATCHEL_FILES_BUCKET_MOVES": "away"], ["SATCHEL_FILES_BUCKET_URL_SECONDS": "9"],
        ["SATCHEL_FILES_BUCKET_MOVE_BYTES": "0"], ["SATCHEL_FILES_BUCKET_ACCESS_KEY": "a b"],
        ["SATCHEL_FILES_BUCKET_ACCESS_KEY": ""], ["SATCHEL_FILES_BUCKET_SECRET": ""],
        ["SATCHEL_FILES_BUCKET": ""],
    ]

    @Test(arguments: wrong) func whatCannotWorkEndsTheStart(_ settings: [String: String]) {
        let problem = #expect(throws: StartupProblem.self) { try Self.configuration(settings) }
        let text = problem.map { "\($0)" } ?? ""
        #expect(text.contains("SATCHEL_FILES_BUCKET"), "\(text)")
        #expect(!text.contains(Self.secret), "\(text)")
    }

    @Test func withoutABucketThereIsNone() throws {
        #expect(try BucketConfiguration(Settings([:])) == nil)
    }

    @Test func operatorsSeeNoSecret() throws {
        let settings = Settings([
            "SATCHEL_FILES_BUCKET": "shop", "SATCHEL_FILES_BUCKET_ACCESS_KEY": "AKEXAMPLE",
            "SATCHEL_FILES_BUCKET_SECRET": Self.secret,
        ])
        _ = try BucketConfiguration(settings)
        let shown = settings.inForce
        #expect(shown.contains { $0.name == "SATCHEL_FILES_BUCKET_SECRET" && $0.isSecret })
        #expect(!"\(shown)".contains(Self.secret))
    }
}
