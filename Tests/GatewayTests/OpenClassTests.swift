import GatewayService
import Testing

/// The gateway's cache of classes in which all clients may create objects.
@Suite struct OpenClassTests {
    @Test func aClassIsKnownWithTheFieldsThatItHad() {
        var book = OpenClassCache<Int>()
        #expect(book.admits("Note", ["text"], now: 0) { _ in true } == false)
        book.learn("Note", ["text"], stamp: 1, now: 0) { _ in true }
        #expect(book.admits("Note", ["text"], now: 0) { _ in true } == true)
        #expect(book.admits("Note", [String](), now: 0) { _ in true } == true)
        #expect(book.admits("Note", ["text", "more"], now: 0) { _ in true } == false)
        #expect(book.admits("Other", ["text"], now: 0) { _ in true } == false)
        book.learn("Note", ["more"], stamp: 1, now: 0) { _ in true }
        #expect(book.admits("Note", ["text", "more"], now: 0) { _ in true } == true)
    }

    @Test func nothingIsKnownAfterAClassHasChanged() {
        var book = OpenClassCache<Int>()
        book.learn("Note", ["text"], stamp: 1, now: 0) { $0 == 1 }
        #expect(book.admits("Note", ["text"], now: 0) { $0 == 2 } == false)
        // Also if the answer arrives after the change but was computed before it.
        book.learn("Note", ["text"], stamp: 1, now: 0) { $0 == 2 }
        #expect(book.admits("Note", ["text"], now: 0) { $0 == 2 } == false)
        // Fields from before the change are discarded.
        book.learn("Note", ["text"], stamp: 2, now: 0) { $0 == 2 }
        book.learn("Note", ["more"], stamp: 3, now: 0) { $0 == 3 }
        #expect(book.admits("Note", ["text"], now: 0) { $0 == 3 } == false)
        #expect(book.admits("Note", ["more"], now: 0) { $0 == 3 } == true)
    }

    @Test func whatIsKnownIsAskedForAgainAfterAWhile() {
        var book = OpenClassCache<Int>()
        book.learn("Note", ["text"], stamp: 1, now: 0) { _ in true }
        let end = OpenClassCache<Int>.lifetime
        #expect(book.admits("Note", ["text"], now: end - 1) { _ in true } == true)
        #expect(book.admits("Note", ["text"], now: end) { _ in true } == false)
    }
}
