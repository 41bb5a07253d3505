import ParseProtocol
import Testing

/// Days and counted hours in a shop's time zone, also where its clocks change.
struct ShopZoneTests {
    private static func moment(_ text: String) throws -> Timestamp { try #require(Timestamp(iso: text), "\(text)") }

    private static func zone(_ name: String) throws -> ShopZone { try #require(ShopZone(name), "\(name)") }

    @Test(arguments: ["", "Berlin", "CET", "PST", "Europe/Atlantis", "+02:00", "utc", "Europe/Berlin "])
    func onlyNamesOfTheDatabaseAreZones(_ name: String) {
        #expect(ShopZone(name) == nil)
    }

    @Test(arguments: [
        ("UTC", "2026-03-29", "2026-03-29T00:00:00.000Z", 24),
        ("Europe/Berlin", "2026-03-28", "2026-03-27T23:00:00.000Z", 24),
        ("Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00.000Z", 23),
        ("Europe/Berlin", "2026-03-30", "2026-03-29T22:00:00.000Z", 24),
        ("Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00.000Z", 25),
        ("America/New_York", "2026-03-08", "2026-03-08T05:00:00.000Z", 23),
        ("America/New_York", "2026-07-04", "2026-07-04T04:00:00.000Z", 24),
        ("America/New_York", "2026-11-01", "2026-11-01T04:00:00.000Z", 25),
        ("Asia/Kathmandu", "2026-03-29", "2026-03-28T18:15:00.000Z", 24),
        ("America/St_Johns", "2026-11-01", "2026-11-01T02:30:00.000Z", 25),
        // The clocks skip midnight.
        ("Africa/Cairo", "2026-04-24", "2026-04-23T22:00:00.000Z", 23),
    ])
    func aDayBeginsWhereTheClocksSaySo(name: String, date: String, start: String, hours: Int) throws {
        let (zone, first) = (try Self.zone(name), try Self.moment(start))
        let day = zone.day(of: first)
        #expect(zone.date(of: first) == date)
        #expect(zone.start(ofDay: day) == first)
        #expect(zone.day(of: Timestamp(milliseconds: first.milliseconds - 1)) == day - 1)
        #expect(zone.date(of: Timestamp(milliseconds: first.milliseconds - 1)) != date)
        let length = zone.start(ofDay: day + 1).milliseconds - first.milliseconds
        #expect(length == Int64(hours) * 3_600_000)
        #expect(zone.hours(ofDay: day).count == hours)
    }

    /// 1 January 1970 is day 0 everywhere, and a day is the number of its date.
    @Test(arguments: ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Pacific/Kiritimati"])
    func aDayHasTheNumberOfItsDate(_ name: String) throws {
        let zone = try Self.zone(name)
        for day in stride(from: Int64(10_000), to: 22_000, by: 37) {
            let start = zone.start(ofDay: day)
            #expect(zone.day(of: start) == day)
            #expect(zone.date(of: start) == String(Timestamp(milliseconds: day * 86_400_000).iso.prefix(10)))
        }
    }

    /// Every counted hour of a year is in exactly one day, and the offsets lead to that day.
    @Test(arguments: ["UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "America/St_Johns", "Africa/Cairo"])
    func theHoursOfDaysHaveNoGaps(_ name: String) throws {
        let zone = try Self.zone(name)
        let first = zone.day(of: try Self.moment("2026-01-01T12:00:00Z"))
        let days = first..<first + 365
        let all = zone.hours(ofDay: days.lowerBound).lowerBound..<zone.hours(ofDay: days.upperBound).lowerBound
        let offsets = zone.offsets(during: all)
        #expect(offsets.first?.from == all.lowerBound)
        var next = all.lowerBound
        for day in days {
            let hours = zone.hours(ofDay: day)
            #expect(hours.lowerBound == next)
            next = hours.upperBound
            for hour in hours {
                #expect(zone.hour(of: zone.start(ofHour: hour)) == hour)
                #expect(zone.day(of: zone.start(ofHour: hour)) == day)
                let offset = try #require(offsets.last { $0.from <= hour })
                #expect((hour + offset.hours) / 24 == day)
            }
        }
        #expect(next == all.upperBound)
    }

    @Test func offsetsChangeWithTheClocks() throws {
        let zone = try Self.zone("Europe/Berlin")
        let first = zone.hour(of: try Self.moment("2026-01-01T00:00:00Z"))
        let year = first..<first + 365 * 24
        #expect(zone.offsets(during: year).map { $0.hours } == [1, 2, 1])
        let spring = zone.hour(of: try Self.moment("2026-03-29T01:00:00Z"))
        #expect(zone.offsets(during: year)[1].from == spring)
        #expect(zone.offsets(during: spring..<spring + 1).map { $0.hours } == [2])
        #expect(try Self.zone("Asia/Kathmandu").offsets(during: year).map { $0.hours } == [5])
        #expect(ShopZone.utc.offsets(during: year).map { $0.hours } == [0])
    }
}
