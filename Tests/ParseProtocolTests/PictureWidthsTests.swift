import ParseProtocol
import Testing

/// The widths of pictures, and the files that have them.
@Suite struct PictureWidthsTests {
    @Test func fewWidthsAreServed() {
        #expect(PictureWidths.all == [160, 320, 640, 960, 1280, 1920])
        for width in PictureWidths.all { #expect(PictureWidths.width("\(width)") == width) }
        for text in ["", "0", "-160", "+160", "0160", "160.0", "1e3", "641", "99999999999999999999", "160\u{301}"] {
            #expect(PictureWidths.width(text) == nil, "\(text)")
        }
    }

    @Test func onlyPublicPicturesHaveThem() {
        #expect(PictureWidths.apply(to: FileNames.storedName("a b.JPG")))
        #expect(PictureWidths.apply(to: FileNames.storedName("a.webp")))
        #expect(!PictureWidths.apply(to: FileNames.storedName("a.jpg", isPrivate: true)))
        for name in ["a.pdf", "jpg", "a.", "a.jpg.txt"] {
            #expect(!PictureWidths.apply(to: FileNames.storedName(name)), "\(name)")
        }
        #expect(!PictureWidths.apply(to: "a.jpg"))
    }
}
