import Platform
import Testing

/// Decisions about a failing bucket. No I/O.
@Suite struct BucketDecisionTests {
    private static func error(_ code: String) -> [UInt8] {
        Array("<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>No.</Message></Error>".utf8)
    }

    static let answers: [(Int, String, BucketTrouble?)] = [
        (200, "", nil), (204, "", nil), (206, "x", nil), (404, "NoSuchKey", .missing),
        (404, "NoSuchBucket", .refused("NoSuchBucket")), (403, "AccessDenied", .refused("AccessDenied")),
        (403, "SignatureDoesNotMatch", .refused("SignatureDoesNotMatch")), (503, "SlowDown", .away("SlowDown")),
        (500, "InternalError", .away("InternalError")), (400, "BadDigest", .away("BadDigest")),
        (400, "InvalidArgument", .refused("InvalidArgument")),
        (301, "PermanentRedirect", .refused("PermanentRedirect")),
    ]

    @Test(arguments: answers) func anAnswerIsSorted(_ status: Int, _ code: String, _ trouble: BucketTrouble?) {
        #expect(BucketTrouble(status: status, body: Self.error(code)) == trouble)
    }

    /// A proxy's error page must not look as if the object were missing.
    @Test func anAnswerWithoutACodeSaysNothingOfTheObject() {
        #expect(BucketTrouble(status: 404, body: Array("<html>Not found</html>".utf8)) == .refused("404"))
        #expect(BucketTrouble(status: 502, body: []) == .away("502"))
        #expect(BucketTrouble(status: 403, body: Self.error("a\nb")) == .refused("403"))
    }

    @Test func aBusyBucketIsTriedThreeTimes() {
        var retry = BucketRetry()
        #expect(
            retry.next(after: .away("SlowDown"), left: .seconds(5), chance: 1) == .again(after: .milliseconds(200)))
        #expect(
            retry.next(after: .away("SlowDown"), left: .seconds(5), chance: 0) == .again(after: .milliseconds(400)))
        #expect(retry.next(after: .away("SlowDown"), left: .seconds(5), chance: 0) == .giveUp)
    }

    @Test(arguments: [.refused("AccessDenied"), .missing, .different] as [BucketTrouble])
    func aDecisionIsNotAskedForTwice(_ trouble: BucketTrouble) {
        var retry = BucketRetry()
        #expect(retry.next(after: trouble, left: .seconds(5), chance: 0) == .giveUp)
    }

    @Test func noAttemptStartsThatCannotEndInTime() {
        var retry = BucketRetry()
        #expect(retry.next(after: .away("x"), left: .milliseconds(600), chance: 1) == .giveUp)
    }

    @Test func anUnreachableBucketIsProbedRarely() {
        var health = BucketHealth()
        for _ in 1..<BucketHealth.failuresMax {
            health.failed(.reading, .away("x"), at: .zero)
            #expect(health.trouble == nil)
            #expect(!health.isWell, "Somebody has to find out.")
        }
        health.failed(.reading, .away("x"), at: .zero)
        #expect(health.trouble == .away("x"))
        #expect(health.waits(at: .milliseconds(900)))
        let early = health.admits(at: .milliseconds(900))
        #expect(!early)
        let first = health.admits(at: .seconds(1))
        #expect(first)
        let second = health.admits(at: .seconds(1))
        #expect(!second, "One finds out for all.")
        health.answered(.reading)
        #expect(health.trouble == nil)
        #expect(health.isWell)
        let after = health.admits(at: .seconds(1))
        #expect(after)
    }

    @Test func aRefusalToWriteIsNotOverBecauseAReadWorks() {
        var health = BucketHealth()
        health.failed(.writing, .refused("AccessDenied"), at: .zero)
        health.answered(.reading)
        #expect(health.trouble == .refused("AccessDenied"))
        let isAsked = health.admits(at: .zero)
        #expect(isAsked, "Somebody is there.")
        health.answered(.writing)
        #expect(health.trouble == nil)
    }

    /// S3 gives this error for a missing object to a client that may not list the bucket.
    @Test func aReadThatIsDeniedSaysNothingOfTheBucket() {
        var health = BucketHealth()
        health.failed(.reading, .refused("AccessDenied"), at: .zero)
        #expect(health.trouble == nil)
        health.failed(.reading, .refused("InvalidAccessKeyId"), at: .zero)
        #expect(health.trouble == .refused("InvalidAccessKeyId"))
    }

    static let drops: [(FileTable.Entry?, Bool, BucketConfiguration.Moves, BucketDeletions.Decision)] = [
        (nil, false, .into, .remove), (nil, true, .back, .remove), (nil, false, .none, .remove),
        (file(inBucket: true), false, .into, .keep), (file(inBucket: true), true, .back, .keep),
        (file(inBucket: false), true, .back, .remove), (file(inBucket: false), true, .none, .remove),
        // The file is missing on the disk, or it is about to move into the bucket.
        (file(inBucket: false), false, .back, .keep), (file(inBucket: false), true, .into, .keep),
    ]

    private static func file(inBucket: Bool) -> FileTable.Entry {
        .init(name: "a", contentType: "text/plain", size: 1, inBucket: inBucket)
    }

    @Test(arguments: drops) func onlyUnneededObjectsAreRemoved(
        _ file: FileTable.Entry?, _ isOnDisk: Bool, _ moves: BucketConfiguration.Moves,
        _ decision: BucketDeletions.Decision
    ) {
        #expect(BucketDeletions.decision(file: file, isOnDisk: isOnDisk, moves: moves) == decision)
    }
}
