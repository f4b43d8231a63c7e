"""The 2,048 English words of BIP-39, of which wallets make seed phrases, in a form of our own.

The first four letters identify a word by the standard. Read as numbers in base 27 they grow from
word to word: the data are the low bytes of the steps between these numbers, the high bytes, and the
length of each word. A word can be looked up; the words themselves are not stored.
"""

from __future__ import annotations

from functools import cache

_WORDS = 2048
_LETTERS = 4
_PACKED = (
    b"eNqVWHtwVOUVz/d953vcx969u5tskt3NAnmQBAmPRcIjJEAIShDE8EoChBAqGCGgM1iU0sE/bItVVJQWH0UEH3W0aG2x"
    b"tFpKOx3bsbXVkT6m087YzlRbx+kfbadO/aMz9pzvLkEgCXDDLvfe73zn/M7v/M65uTnz+6UDbL0r2bUfgFJ70yeby+od"
    b"JcRvFjrOc4v/FJpd+4Pm9OeCtbtf2R+WfytfNqd/mXSzM8tm1CWWP6F26mOnCmxQq+kzV6vMbQ4MJefdUapVU86vibU+"
    b"IF230Aqg6iUE7xxYDuAHj5/ZC+CEYd/pw1ot/FQNaL216qtPveTq1NJ7uZPIxDZK7gXAa1d6ujpoqi1LmSEl6/jhSi7u"
    b"zvGf3lTTGTbvYQ6T65K3PAP8kRjbydd+YXM+TJh26eRyZYuySkkpumEbY1zLR4xgUhzdM1vM7L7eYVP0FuEbJ0zfNW2F"
    b"FjV9Q9Us5XmMM5dpkTdeNefC4dwXzGOKcR4PfOb7S7ONrC/+PcHw4Iz1cs58toFrdlR1Lfbgxl8OzAsnrtZc8tUJ6OVM"
    b"M/518NH2AU+xjWEhMaubrxAKoQgQAbrQkvGQjXPy4EBV1vXQYWz9fxEvk0yIVYIle1zFjgrOH+QATPamwqoe3orIYr5/"
    b"7In/xAPYmZnZ2vBhmHABhBDNAYSlu03KZD2ZB6zopDIOXIKBZlB1ksnGDhbLy33z2ea4wRwlZ9AO6s5nWPch8LMu5Ptn"
    b"5NcwpWBtsl9xro481d8h87dPdNMvlpzVjVyFnrz7df7J4hmNH7zef2JyJSihtn3qBqIrTAlZYDf6olJWxEyqY1rfYjXB"
    b"A6dxwDOvprbHl698/xUoX7PkTXOcTXWnIAlObXyByWv2tLHg+2MFvjQIvYOqU8dA+SKxJZ1CEvP5QmVjGsyvqx5zZ6cL"
    b"k6bMv9PoGoFlGTTKk6lgY53CIq3f6Rzivvma2xu2dbd3ms5wAefgMF7Opi2qU7fzjc43tATx8Ht/D4a8wvQHO7zSZbMY"
    b"NywIQ5H58nhwOPtKft0DwY+2eltWucB+4TwaE8AO7lv4h6749dViUW0TU5ILVNV2Fn84yR/ftaPPmF2d23++uFr57Q08"
    b"Lsa3TLj+DaOgff9aJibu/fOa+9uqWybNqf0HA1GazeTmA6sAvyH4+MBRFgtFbEPAnRe+mDsTe/WtT6Tzwgd9YWsgxA7k"
    b"I8BerPZEA0zyw9Zx7rxsNYDGSrqTQX1z74bPd//srd2l/z7J66vb3mrKrvvbPXuSnB9cfxe/90tVYQDikBE8ft2qHU+V"
    b"Dkr3mrIXFiYXNV4LlTrIBLJh6gnuw7VdmkHHYCj8itty9XODWNAVj986Q1flW2dm6wd3u+Mdd9trvPZ+z00uf3vwyQwf"
    b"f+rj1Do52fBcoi1Aifq8aTIDznWpYS4XLh8o/IRUV2rek05sPFsH2M2eo19xf8cq0lKpnkQQsF0y/loBPpLjkPuyDnDy"
    b"SaYyMgalK47HT3DsudycePz29d2tVaG/aerUGV7bdzoqdXmF35jL33bojc3T12m/HAQrpBU8VvO/m3bN/T4vb3u/+pk1"
    b"L0nY/fLTiSefn9Ywfe8N4UcweGbrqXSmAjrn8jMr7s0xT7y7E16X0HHLHd7KRQv8JgZefQGU5hlPModnYr1nPWDjmhhv"
    b"yE7Wqiap2t5Z1qzqZsgHRSGf3OS+9i4aytXi26D/qLd2AEwvC2pnhi4zqfoMm6Vu4S5KsxdnE1Yc7qNJIQR+cGZUT/kL"
    b"iIpgnm5UWoSp07t+zGHHhoQ6si/HVcLcx+XSccjq7EKzmJHedMroWKhxcLrlTULFHbGwABAKvBGyeLkPWkyo5aCYxKXS"
    b"JKR+28PzooK3lLMfNpQvq6uG9+LlKgEtkt9cPkGr3hfnLDswvXztHeA29Vznc8k8L/68ioexZc04I7YucRPBcYGD2j+b"
    b"ZGw6Qq7Ts+/WFVmXDcQqcmziKq7URqP6meHqIe4yLFSH3771rkxZ1Sy1TzE30AFsm5TrbskP9fgc2k56NzsDTKgjMXH0"
    b"lDp7HFYZ+fbJnkbFE50PCekzt6p6De/keJyIc7EWZcSXVOIAhiVdOP94G8CrOwEGcSpyQJXJ1YCS7nP4oy7DCToPmVAL"
    b"uN6+Tbhals9Oq0VbApS2xxsZVhLK4A10sh52aKaODQUHMj/IDLQvVc3TZo9zsgP/chsmsZjaUr2/Qm1Bd3pAPrsQ1Ar2"
    b"z7Kuw46YWtXSWJpzmkV5S+vUQpDgPG+0oxs9lXEm14HTgAOHcZoFYjU4/VhrJZ6WB3FyK9ZT86t1mditQt3ABzz50FlY"
    b"zF4uu0Yk3IagYbwn+JTc2brYm5srTie7/nr/nC3A1XPHsqVDewX227xpE6fwPbUh69WuKottuibp+U3fbUv1Mm183RZ7"
    b"lt2UfPOeGrdlCePzNmqZMOA3L/sQ8HGk51bvan9bHza9+DTZJjri9cfNJEDqhOrLMDGhOZ3Pmk4EyE/3h0PsyLPP1wwE"
    b"autLkF5ZcpmDsxLGSvAj8EJdvMou3SDsPSgZxZRddBGdcfdSR07J6PcuBHIJLDXC1hHuJUqu9HBH9/uZfEZbVlcaRo61"
    b"qM6T7ZjhU3NFjp3Rl4IxkBZDCq2LGQKlSv3I1GdTZyNLAe3h3IottRxRGUU35rLInctzq8a2iM6TI5fXsNE2jOQ5uvb0"
    b"hXfNJWjjYzLuBNRdJnaeP3Y5KXK0UXFLGGMZ2lB0mHLx3DnvwcfPxBE8mMvLI7j0irmXlbG5IukFI1mdZ8krKdEj7nRK"
    b"wgt2YJpJPiwfTtLUIJATPjyAxPmhVJSdKMFfWWCsBNgY6cjhEqmr7HJ9cRXnF0+SV0zk1RAfXKikYNRYYszLqx5gRQds"
    b"5AHJriopfjVxx8hLXpyAGQYyuv/4WIP4CtagGLoy5KNgEyV2hbH0pc+ZkfqmiKhmjNKr88xdeIQXmdzqsKqSkiksV6I1"
    b"SPzd3CipjFb4jqHxpU5qJYXCLzzRCl+mhcT3aaHxGz94QSsglda4FU0k3TF0prWgzfiupcBaAjmQAhfRIVpjCIxGG9GC"
    b"HKCJRmdg0FzToqLI6FzZvaAohARJSxhA0IsQxSck9K0AAwEdkjbhBhUhJUz0g8AIEJ2jHwpgAaFjoLu0U4GIjG0CFJw8"
    b"EhQd7QZiwSZqLDnEGVivWkVJYIKEQxMaG1URHspOWh4xBoZDI/rCw9APRZaUEDlVEVy7nz4ROklRqBQCtwokTlPK0oJU"
    b"+EYoCCYGNwYsWbpIsbZFVaAJoLJxI8I13gZj8AYCsHZG2PSkRUPJygg3vphDhNByDZYrLBFaC8srZmFkVBbyQ/WTNpiM"
    b"SEZNRHKx7JOVsQGUlQqJQNpy6Cg/BZZCuieIckEFI57ovUeSPogKOqfaAOERuCZtYmA5k3hJ1mDZIarIMe5VRQMQVkhI"
    b"BAgL1frGjKyYbTKU8zl5UcIAllSIaNEWoY5qK1FqBIYUiVY2shUcQSMU+G0ha1tnyoLYFBELUWDchFok6rStHWnNoAtj"
    b"4dnCmKiqRJ8trrZKJ9eUMBElLSGGzjEvxCys4CTla8tmlAVv8ViyNFh68Zw4wrJSnvafbUywKSqrTbImQSuqiO0zalG6"
    b"Rx2jTJSXRUZ/pLCtoSIVgZUh+YqUAdF4sC2uLZHG5kc+EaOK5GQlQCVD3Jq6jdgBW4AILER6wZEElhddzAfZoPqCxRm1"
    b"lC2+IbjSllZEgwUixRA8KgMVIgKJTIio2RVRZ4gkajbbpDKiLHJgdUcNga1HIIoD0IKRNqK2A5H6hMQPURvRCmmPZgAR"
    b"bhek/ZCAiUxbz2j0RvOX+oP0YmybFjsGJWKGDYSK+JFFCdqhbjVgC09yFHamgx1uVGFChXSAJYE6mZgRdoDSZKJ2tDnZ"
    b"2ktdHGQRW0Qq6l0XWbADir5J2eRSRskqONc2Khootqa2JufkVmw1XRzXdG1bzD4GiCs7DSOXSp7rSyLCUE11NO2oqe0I"
    b"pzlnjKW9OH3t2CfJ2Wop26koA4sErPCihrYPO6tDqyTyLexT0bY33UJW7OwXth8MDI94+kONjqaksFOY/inb6NgPVnuR"
    b"TunpaiFb8dG6imYUSddOXjs9wTZ5lISOGiUiQSsoDhLqgai/7TATw8W0yVgbKwkV9XI0u6OgOlKJsP+J/wMZiJNA"
)


@cache
def positions() -> dict[tuple[int, int], int]:
    """Return the position of each word in the list, by `key_of` the word.

    Without a loop of our own: that took 5 ms, this takes half of one.
    """
    from binascii import a2b_base64
    from itertools import accumulate
    from zlib import decompress

    data = decompress(a2b_base64(_PACKED))
    low, high, lengths = (data[at : at + _WORDS] for at in range(0, len(data), _WORDS))
    steps = map(int.__add__, low, map((256).__mul__, high))
    return dict(zip(zip(accumulate(steps), lengths, strict=True), range(_WORDS), strict=True))


def key_of(word: bytes) -> tuple[int, int]:
    """Return the key of a lower-case word: its first four letters as a number, and its length."""
    number = 0
    for sign in word[:_LETTERS].ljust(_LETTERS, b"`"):
        number = number * 27 + sign - 96
    return number, len(word)
