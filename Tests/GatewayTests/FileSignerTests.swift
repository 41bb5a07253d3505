import Foundation
import GatewayService
import ParseProtocol
import Testing

/// URLs of private files.
@Suite struct FileSignerTests {
    private static let now = Timestamp(milliseconds: 1_700_000_000_000)
    private static let signer = FileSigner(key: (0..<32).map { $0 }, seconds: 3600)
    private static let name = FileNames.storedName("extra.zip", isPrivate: true)

    @Test func aNameSaysWhetherItsFileIsPrivate() throws {
        #expect(FileNames.isStoredName(Self.name))
        #expect(FileNames.isPrivate(Self.name))
        #expect(FileNames.original(Self.name) == "extra.zip")
        let open = FileNames.storedName("extra-1.zip")
        #expect(FileNames.isStoredName(open))
        #expect(!FileNames.isPrivate(open))
        // A client cannot choose the marker of private files: it precedes the name that the client gives.
        #expect(!FileNames.isPrivate(FileNames.storedName("-x")))
        #expect(!FileNames.isStoredName("0123-x"))
    }

    @Test func aURLWorksUntilItsEnd() throws {
        let query = Self.signer.query(for: Self.name, now: Self.now)
        #expect(Self.signer.secondsLeft(of: Self.name, query: query, now: Self.now) == 3600)
        let last = Self.now.advanced(by: .seconds(3599))
        #expect(Self.signer.secondsLeft(of: Self.name, query: query, now: last) == 1)
        #expect(Self.signer.secondsLeft(of: Self.name, query: query, now: Self.now.advanced(by: .seconds(3600))) == nil)
        let short = Self.signer.query(for: Self.name, now: Self.now, seconds: 5)
        #expect(Self.signer.secondsLeft(of: Self.name, query: short, now: Self.now) == 5)
        let long = Self.signer.query(for: Self.name, now: Self.now, seconds: .max)
        #expect(Self.signer.secondsLeft(of: Self.name, query: long, now: Self.now) == FileSigner.secondsMax)
    }

    @Test func signedURLsCannotBeAltered() throws {
        let query = Self.signer.query(for: Self.name, now: Self.now)
        let expires = try #require(query.split(separator: "&").first)
        let signature = try #require(query.split(separator: "&").last)
        let other = FileNames.storedName("extra.zip", isPrivate: true)
        let stranger = FileSigner(key: (1...32).map { $0 }, seconds: 3600)
        #expect(Self.signer.secondsLeft(of: other, query: query, now: Self.now) == nil)
        #expect(stranger.secondsLeft(of: Self.name, query: query, now: Self.now) == nil)
        let wrong: [String?] = [
            nil, "", String(expires), String(signature), "expires=9999999999&\(signature)",
            "\(expires)&signature=", "\(expires)&signature=\(String(repeating: "0", count: 64))",
            "expires=+1700003600&\(signature)", "expires=\(Int64.max)&\(signature)",
            "expires=\(Int64.min)&\(signature)",
            "\(expires)&\(signature.dropLast())", "\(expires)&\(signature)0", "expires=%ZZ&\(signature)",
        ]
        for query in wrong {
            #expect(Self.signer.secondsLeft(of: Self.name, query: query, now: Self.now) == nil, "\(query ?? "")")
        }
    }
}
