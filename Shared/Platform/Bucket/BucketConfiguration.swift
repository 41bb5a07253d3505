import ProcessKit

/// The settings of the bucket that stores file contents.
package struct BucketConfiguration: Sendable {
    /// `SATCHEL_FILES_BUCKET_DOWNLOADS`
    package enum Downloads: String, Sendable, CaseIterable {
        /// The gateway passes the content on.
        case proxied
        /// The gateway redirects clients to a URL of the bucket that is valid for a few minutes.
        case presigned
    }

    /// `SATCHEL_FILES_BUCKET_MOVES`
    package enum Moves: String, Sendable, CaseIterable {
        /// New files go into the bucket, and a background job moves files from the disk there.
        case into = "in"
        /// New files go to the disk, and a background job moves files from the bucket there.
        case back
        /// New files go into the bucket; existing files are not moved.
        case none
    }

    package let address: BucketAddress
    package let signature: SignatureV4
    package let downloads: Downloads
    package let moves: Moves
    /// `SATCHEL_FILES_BUCKET_URL_SECONDS`: maximum lifetime of a bucket URL.
    package let urlSeconds: Int
    /// `SATCHEL_FILES_BUCKET_MOVE_BYTES`: rate limit of the mover, in bytes per second.
    package let moveBytesPerSecond: Int
    /// `SATCHEL_CA_FILE`
    let authorities: String?

    /// - Returns: nil when no bucket is set.
    /// - Throws: `StartupProblem` for settings that cannot work.
    package init?(_ settings: Settings) throws(StartupProblem) {
        guard let bucket = settings["satchel.files.bucket"] else {
            // An operator who forgot the bucket's name must learn it at start, before the disk fills up.
            for key in ["url", "access.key", "secret"] where settings["satchel.files.bucket.\(key)"] != nil {
                throw StartupProblem("\(Settings.variable("satchel.files.bucket.\(key)")) needs SATCHEL_FILES_BUCKET.")
            }
            return nil
        }
        guard let accessKey = settings["satchel.files.bucket.access.key"],
            let secret = settings["satchel.files.bucket.secret"]
        else {
            throw StartupProblem(
                "SATCHEL_FILES_BUCKET needs SATCHEL_FILES_BUCKET_ACCESS_KEY and SATCHEL_FILES_BUCKET_SECRET.")
        }
        // The error text omits the value: an operator who swapped the two settings has put the secret here.
        guard accessKey.utf8.allSatisfy({ (33...126).contains($0) && $0 != UInt8(ascii: "/") }) else {
            throw StartupProblem("SATCHEL_FILES_BUCKET_ACCESS_KEY holds characters that no access key has.")
        }
        let region = settings.text("satchel.files.bucket.region", default: "us-east-1")
        guard !region.isEmpty, region.utf8.allSatisfy({ $0 == UInt8(ascii: "-") || Self.isLetterOrDigit($0) }) else {
            throw settings.wrong("satchel.files.bucket.region", "must be letters, digits and -.")
        }
        let (name, folder) = Self.parts(of: bucket)
        address = try BucketAddress(
            url: settings["satchel.files.bucket.url"], bucket: name, region: region,
            prefix: settings.text("satchel.files.bucket.prefix", default: folder))
        signature = SignatureV4(accessKey: accessKey, secret: secret, region: region)
        downloads = try settings.choice("satchel.files.bucket.downloads", default: Downloads.proxied)
        moves = try settings.choice("satchel.files.bucket.moves", default: Moves.into)
        urlSeconds = try settings.number("satchel.files.bucket.url.seconds", 10...604_800, default: 600)
        moveBytesPerSecond = try settings.number(
            "satchel.files.bucket.move.bytes", 1024...(1 << 30), default: 4 << 20)
        authorities = settings["satchel.ca.file"]
    }

    /// The name and the prefix of `s3://name/prefix`. Any other text is a name.
    private static func parts(of text: String) -> (name: String, prefix: String) {
        guard text.hasPrefix("s3://") else { return (text, "") }
        let parts = text.dropFirst("s3://".count).split(separator: "/", maxSplits: 1).map(String.init)
        guard parts.count == 2 else { return (parts.first ?? "", "") }
        return (parts[0], parts[1].hasSuffix("/") ? parts[1] : "\(parts[1])/")
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}
