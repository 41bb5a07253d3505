import CrashService
import ParseProtocol
import Testing

/// A resolved crash is reopened only by a newer release.
@Suite struct CrashReleaseTests {
    @Test(
        arguments: [
            ("shop@1.1.0", "shop@1.0.0", true), ("shop@1.0.0", "shop@1.1.0", false),
            ("shop@1.0.0", "shop@1.0.0", false),
            ("1.10", "1.9", true), ("v2.0", "1.9.9", true), ("1.0", "1.0.0", false), ("1.0.0.1", "1.0.0", true),
            ("app@1.2.3+46", "app@1.2.3+45", true), ("app@1.2.3+45", "app@1.2.3+46", false),
            ("app@1.2.3+100", "app@1.2.3+99", true),
            ("app@1.2.3+45", "app@1.2.3", false), ("app@1.2.3", "app@1.2.3+45", false),
            ("app@1.2.3", "app@1.2.3-beta.2", true), ("app@1.2.3-beta.2", "app@1.2.3", false),
            ("app@1.2.3-beta.11", "app@1.2.3-beta.2", true), ("app@1.2.3-rc", "app@1.2.3-beta", true),
            ("app@1.2.3-beta", "app@1.2.3-1", true), ("com.example.shop@7", "com.example.shop@6", true),
        ] as [(String, String, Bool)])
    func releasesAreOrderedByVersion(newer: String, older: String, isNewer: Bool) throws {
        #expect(try #require(Release(newer)).isNewer(than: #require(Release(older))) == isNewer)
    }

    @Test(arguments: [
        "", "3f2a9c1b", "main", "12345678", "1..2", "1.x", "@", "a@b@", "99999999999999999999999.1", "-1.2",
    ])
    func whatIsNoVersionHasNoOrder(text: String) { #expect(Release(text) == nil) }

    @Test func versionsOfDifferentAppsHaveNoOrder() throws {
        #expect(try #require(Release("ios@2.0")).isNewer(than: #require(Release("android@1.0"))) == nil)
        #expect(Release.newest(of: []) == "")
        #expect(Release.newest(of: ["a@1.2", "a@1.10", "a@1.9"]) == "a@1.10")
        #expect(Release.newest(of: ["1.0.0", "3f2a9c1b"]) == "3f2a9c1b")
    }

    private static let resolvedAt = Timestamp(milliseconds: 1_000_000)

    private func after(_ status: IssueStatus, _ release: String, seen: Int64 = 0, resolvedIn: String) -> IssueStatus {
        status.after(
            .init(release: release, releaseFirstSeen: Timestamp(milliseconds: seen)), resolvedIn: resolvedIn,
            resolvedAt: Self.resolvedAt)
    }

    @Test func onlyANewerReleaseReopens() {
        #expect(after(.resolved, "shop@1.0.0", resolvedIn: "shop@1.0.0") == .resolved)
        #expect(after(.resolved, "shop@0.9.0", resolvedIn: "shop@1.0.0") == .resolved)
        #expect(after(.resolved, "shop@1.1.0", resolvedIn: "shop@1.0.0") == .regression)
        #expect(after(.resolved, "", resolvedIn: "shop@1.0.0") == .resolved)
        #expect(after(.resolved, "", resolvedIn: "") == .regression)
        #expect(after(.resolved, "shop@1.1.0", resolvedIn: "") == .regression)
    }

    @Test func releasesWithoutOrderReopenWhenTheyAppearedLater() {
        #expect(after(.resolved, "3f2a9c1b", seen: 999_999, resolvedIn: "0a1b2c3d") == .resolved)
        #expect(after(.resolved, "3f2a9c1b", seen: 1_000_001, resolvedIn: "0a1b2c3d") == .regression)
    }

    @Test(arguments: [IssueStatus.unresolved, .ignored, .regression])
    func otherStatusesStay(status: IssueStatus) { #expect(after(status, "9.9.9", resolvedIn: "1.0.0") == status) }
}
